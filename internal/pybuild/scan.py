# Lists the modules that a plugin consists of, as JSON: scan.py FOLDER RESULT. Runs in the Python that
# has componentize-py, so that packages are those of its environment.
import ast, importlib.machinery, importlib.util, json, os, sys, sysconfig

folder, result = os.path.abspath(sys.argv[1]), sys.argv[2]
MOST = 4 << 20
NEVER = {
    "threading": "threads", "_thread": "threads", "multiprocessing": "processes", "concurrent": "threads", "subprocess": "processes",
    "asyncio": "event loops", "signal": "signals", "socket": "sockets", "ssl": "sockets", "select": "sockets", "selectors": "sockets",
    "socketserver": "sockets", "ftplib": "sockets", "smtplib": "sockets", "sqlite3": "C libraries", "ctypes": "C libraries",
    "tkinter": "windows", "curses": "terminals", "readline": "terminals", "mmap": "files", "tempfile": "files", "shutil": "files",
    "bz2": "C libraries", "lzma": "C libraries", "dbm": "files",
}
INSTEAD = {"sockets": "anchor.http sends requests", "threads": "anchor.http_batch sends requests at the same time", "files": "anchor.kv_get and kv_set keep data"}
# Packages import these for a lock, or for what a plugin does not use. What does use them fails then.
HARMLESS = {"threading", "_thread", "tempfile", "shutil"}
IN_C = "the package has code in C, and a plugin can have only packages in Python"
WEB = {"urllib.request", "http.client", "http.server", "xmlrpc.client"}
modules, standard, optional, errors = {}, set(), set(), []
sizes, asked, native = {}, {}, {}  # by package: bytes of source, who imports it, and a module in C whose import may fail


def explain(name):
    top = name.partition(".")[0]
    what = "sockets" if name in WEB or any(name.startswith(w + ".") for w in WEB) else NEVER.get(top)
    if what:
        return f"a plugin has no {what}" + (f" ({INSTEAD[what]})" if what in INSTEAD else "")


def guarded(tree):
    """Imports in a try, under TYPE_CHECKING or in a function may fail, or never happen."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Try, ast.If, ast.FunctionDef, ast.AsyncFunctionDef)):
            found.update(id(n) for n in ast.walk(node) if isinstance(n, (ast.Import, ast.ImportFrom)))
    return found


def spec(name):
    """Finds a module as an import would, without executing its packages."""
    paths, found = [folder] + [p for p in sys.path if p and os.path.abspath(p) != here], None
    parts = name.split(".")
    for i in range(len(parts)):
        found = importlib.machinery.PathFinder.find_spec(".".join(parts[: i + 1]), paths)
        if found is None:
            return None
        paths = list(found.submodule_search_locations or [])
    return found


here = os.path.dirname(os.path.abspath(__file__))
pending = [("plugin", "plugin.yaml", 0, False), ("anchor", "plugin.yaml", 0, False)]
seen = set()
foreign = set()  # the paths of packages' modules
size = 0
own = set()


def need(name, path, line, lenient):
    """Adds a module, and its packages. Returns whether there is one."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names and name != "plugin":
        why = explain(name)
        if name in HARMLESS and path in foreign:
            optional.add(name)
        elif why and not lenient:
            errors.append(f"{path}:{line}: import {name}: {why}")
        elif not why:
            (optional if lenient else standard).add(name)
        return True
    if top == "wit_world" or top == "_anchor_host":
        return True
    for i in range(1, name.count(".") + 2):
        part = ".".join(name.split(".")[:i])
        if part not in seen:
            pending.append((part, path, line, lenient))
    return True


def named(body):
    """Notes what statements of plugin.py define. An operation is no coroutine: nothing would run it."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            own.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            own.update(a.asname or a.name for a in node.names)
        elif not isinstance(node, ast.AsyncFunctionDef):
            for target in getattr(node, "targets", [getattr(node, "target", None)]):
                own.update(n.id for n in ast.walk(target or ast.Pass()) if isinstance(n, ast.Name))
            for part in ("body", "orelse", "finalbody", "handlers", "cases"):
                named(getattr(node, part, []))


def load(name, path, line, lenient):
    global size
    if name in seen:
        return
    found = spec(name)
    if found is None:
        if not lenient:
            errors.append(f"{path}:{line}: import {name}: no such module (pip install it into this environment, or correct the name)")
        return
    seen.add(name)
    top = name.partition(".")[0]
    asked.setdefault(top, f"{path}:{line}")
    origin = found.origin or ""
    if origin.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
        if lenient:
            native.setdefault(top, name)
            modules[name] = {"path": name.replace(".", "/"), "package": False, "source": f"raise ModuleNotFoundError({f'{name}: {IN_C}'!r}, name={name!r})\n"}
        else:
            errors.append(f"{path}:{line}: import {name}: {IN_C}")
        return
    if found.origin is None:
        modules[name] = {"path": name.replace(".", "/"), "package": True, "source": ""}
        return
    with open(origin, "rb") as f:
        data = f.read()
    size += len(data)
    sizes[top] = sizes.get(top, 0) + len(data)
    package = found.submodule_search_locations is not None
    inside = origin.startswith(folder + os.sep) and "site-packages" not in origin
    shown = os.path.relpath(origin, folder) if inside else name.replace(".", "/") + ("/__init__.py" if package else ".py")
    if not inside:
        foreign.add(shown)
    try:
        source = importlib.util.decode_source(data)
        modules[name] = {"path": shown.replace(os.sep, "/"), "package": package, "source": source}
        tree = ast.parse(source, shown)
    except SyntaxError as error:
        errors.append(f"{shown}:{error.lineno or 1}: {error.msg}")
        return
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        errors.append(f"{shown}:{line}: is not {error.encoding} (save the file as UTF-8)")
        return
    except (ValueError, MemoryError, RecursionError) as error:
        errors.append(f"{shown}:1: {error or 'nests too deep'}")
        return
    if name == "plugin":
        named(tree.body)
    weak = guarded(tree)
    for node in ast.walk(tree):
        soft = lenient or id(node) in weak and name != "plugin"
        if isinstance(node, ast.Import):
            for alias in node.names:
                need(alias.name, shown, node.lineno, soft)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".") if package else name.split(".")[:-1]
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join(parts + ([base] if base else []))
            if base:
                need(base, shown, node.lineno, soft)
            for alias in node.names:  # a name may be a module
                full = f"{base}.{alias.name}" if base else alias.name
                if base.partition(".")[0] in sys.stdlib_module_names:
                    if explain(full) and not soft and not explain(base):
                        errors.append(f"{shown}:{node.lineno}: import {full}: {explain(full)}")
                    elif not explain(full) and spec(full):
                        optional.add(full)
                elif base not in ("", "_anchor_host", "__future__") and alias.name != "*" and full not in seen and spec(full):
                    need(full, shown, node.lineno, soft)


while pending:
    load(*pending.pop())
if size > MOST:
    errors = errors[:18] + [f"{asked[top]}: import {top}: {IN_C} ({native[top]})" for top in native if sizes.get(top, 0) > MOST // 4]
    largest = max(sizes, key=sizes.get)
    errors.append(f"the plugin and its packages have {size} bytes of source, at most {MOST}: {largest} has {sizes[largest]}")
with open(result, "w", encoding="utf-8") as f:
    json.dump({"modules": modules, "standard": sorted(standard), "optional": sorted(optional - standard), "errors": sorted(errors)[:20], "names": sorted(own)}, f)
