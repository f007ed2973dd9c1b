# Runs inside the module: what it imports here is what plugins can import. A plugin's own sources come
# as data when the module starts.
import sys, json, random, types, traceback, linecache, os, time, io, builtins
import importlib.abc, importlib.util
import wit_world

HOST = types.ModuleType("_anchor_host")  # how the package anchor reaches the host
HOST.call = wit_world.call
sys.modules["_anchor_host"] = HOST
OPERATIONS, HANDLERS, FAILED = (), None, b""


class Sources(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the modules of the plugin from the bundle."""

    def __init__(self, modules):
        self.modules = modules

    def find_spec(self, name, path=None, target=None):
        if name in self.modules:
            return importlib.util.spec_from_loader(name, self, origin=self.modules[name]["path"], is_package=self.modules[name]["package"])

    def is_package(self, name):
        return self.modules[name]["package"]

    def get_source(self, name):
        return self.modules[name]["source"]

    def exec_module(self, module):
        name = module.__name__
        path, source = self.modules[name]["path"], self.get_source(name)
        linecache.cache[path] = (len(source), None, source.splitlines(True), path)
        module.__file__ = path
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


class Lines:
    """Writes each line of print to the log."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, log):
        self.log, self.rest = log, ""

    def write(self, text):
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            self.log(line)
        return len(text)

    def flush(self):
        if self.rest:
            self.log(self.rest)
            self.rest = ""

    def isatty(self):
        return False


def no_file(file, *rest, **more):
    raise FileNotFoundError(44, "a plugin has no files (anchor.kv_get and kv_set keep data)", str(file))


builtins.open = io.open = no_file


def no_sleep(seconds):
    raise RuntimeError("time.sleep: a plugin cannot wait")


def no_exit(*code):
    raise RuntimeError("a plugin cannot end its process (raise an exception)")


os._exit = os.abort = no_exit


# json.loads nests on the stack of the host, which is small, and not on that of Python.
DEEPEST, decode = 2000, json.JSONDecoder.raw_decode


def shallow(self, s, idx=0):
    if s.count("[") + s.count("{") > DEEPEST:
        import re
        from itertools import accumulate
        step = {"[": 1, "{": 1, "]": -1, "}": -1}
        if max(accumulate(map(step.get, re.findall(r"[\[\]{}]", re.sub(r'"(?:[^"\\]|\\.)*"?', "", s)))), default=0) > DEEPEST:
            raise RecursionError(f"JSON nests more than {DEEPEST} levels")
    return decode(self, s, idx)


json.JSONDecoder.raw_decode = shallow


def shown(error):
    """Returns the text of an exception, with the lines of the plugin and without those of this file."""
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename.startswith(("/0/", "/python/importlib/", "<frozen ", "anchor/")):
        trace = trace.tb_next
    try:
        about = traceback.TracebackException(type(error), error, trace, limit=-20)
        about._str = str(about)[:4000]
        notes, about.__notes__ = getattr(about, "__notes__", None) or [], None
        lines = list(about.format())
        if not getattr(about, "exceptions", None):
            lines.pop()  # what the first line says
        first = list(about.format_exception_only())[-1].strip()
        if notes:
            first += f" ({'; '.join(map(str, notes))[:1000]})"
        return (first + "\n" + "".join(lines)).encode("utf-8", "replace")
    except MemoryError:
        return f"{type(error).__name__}: its text needs too much memory".encode()


class WitWorld(wit_world.WitWorld):
    def boot(self, source: bytes) -> bytes:
        global OPERATIONS, HANDLERS
        try:
            bundle = json.loads(source)
            OPERATIONS = bundle["operations"]
            HOST.permissions = bundle["permissions"]
            sys.meta_path.insert(0, Sources(bundle["modules"]))
            import anchor
            sys.stdout, sys.stderr = Lines(anchor.log.info), Lines(anchor.log.warn)
            time.sleep = no_sleep
            HANDLERS = anchor.handlers(importlib.import_module("plugin"))
            return b""
        except BaseException as error:
            return shown(error)

    def run(self, operation: int, request: bytes) -> bytes:
        try:
            random.seed(os.urandom(16))
            answer = HANDLERS(OPERATIONS[operation], request)
            sys.stdout.flush()
            sys.stderr.flush()
            return answer
        except BaseException as error:
            return b"!" + shown(error)
