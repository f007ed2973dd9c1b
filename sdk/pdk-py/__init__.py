"""The host as a plugin sees it. Under an ordinary Python the host is absent: the package then keeps
logs, settings and stores in memory, and answers services by functions that a test sets in `fake`.

    import anchor

    def filter(request, settings):
        return {"keep": [row for row, item in enumerate(request["items"]) if item["score"] >= settings["least"]]}
"""
from __future__ import annotations

import array as _array
import json as _json
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping, Sequence

try:
    import _anchor_host as _host
except ImportError:
    _host = None

__all__ = ["NO_CHANGE", "Embedded", "Response", "ServiceError", "config", "count_tokens", "embed", "fake", "http", "http_batch",
           "kv_delete", "kv_get", "kv_get_bytes", "kv_set", "llm", "llm_batch", "log", "note_missing", "search"]

NO_CHANGE = None
"""What an operation returns if everything stays as it is."""

_SILENT = ("init", "observe")
# The numbers of the functions of the host.
(_BLOCK, _READ, _DEBUG, _INFO, _WARN, _ERROR, _CONFIG, _HTTP, _STATUS, _HEADERS, _BATCH, _GET, _SET, _COUNT, _EMBED, _SEARCH, _LLM) = range(17)


class ServiceError(Exception):
    """A service has no answer. `word` is timeout, unavailable, refused, invalid, budget or not_found."""

    def __init__(self, word: str, message: str = ""):
        super().__init__(message or word)
        self.word = word


@dataclass
class Response:
    """The response to a request. `status` is 0 if there is none, and `error` says why."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    error: str = ""

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        return _json.loads(self.body)


@dataclass
class Embedded:
    """Vectors of texts, in the order of the texts."""

    model: str
    dimension: int
    vectors: list[list[float]]


class _Fake:
    """What answers a plugin that a test runs under an ordinary Python."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets everything."""
        self.config: dict[str, str] = {}
        self.kv: dict[str, bytes] = {}
        self.log: list[tuple[str, str]] = []
        self.http: Callable[[dict[str, Any]], Response] | None = None
        self.embed: Callable[[list[str], str], Embedded] | None = None
        self.search: Callable[[dict[str, Any]], list[dict[str, Any]]] | None = None
        self.llm: Callable[[dict[str, Any]], dict[str, Any]] | None = None
        self.count_tokens: Callable[[str], int] = lambda text: len(text.split())


fake = _Fake()


def _faked(name: str) -> Callable[..., Any]:
    answer = getattr(fake, name)
    if answer is None:
        raise RuntimeError(f"set anchor.fake.{name} to a function that answers in this test")
    return answer


def _granted(permission: str, what: str) -> None:
    if permission not in _host.permissions:
        words = f"kind: {permission}" if permission in ("http", "kv") else f"kind: service, service: {permission}"
        raise PermissionError(f"anchor.{what}: plugin.yaml does not ask for the permission ({words})")


def _ask(number: int, *handles: int) -> int:
    return int.from_bytes(_host.call(number, b"".join(h.to_bytes(8, "little") for h in handles)), "little")


def _block(data: str | bytes) -> int:
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    return int.from_bytes(_host.call(_BLOCK, data), "little") if data else 0


def _bytes(handle: int) -> bytes:
    return _host.call(_READ, handle.to_bytes(8, "little")) if handle else b""


def _document(value: Any) -> int:
    return _block(_json.dumps(value, ensure_ascii=False, separators=(",", ":")))


class _Log:
    """Writes to the host's log."""

    def debug(self, *values: Any) -> None:
        self._write(_DEBUG, "debug", values)

    def info(self, *values: Any) -> None:
        self._write(_INFO, "info", values)

    def warn(self, *values: Any) -> None:
        self._write(_WARN, "warn", values)

    def error(self, *values: Any) -> None:
        self._write(_ERROR, "error", values)

    def _write(self, number: int, level: str, values: Sequence[Any]) -> None:
        text = " ".join(map(str, values))
        if _host is None:
            fake.log.append((level, text))
        else:
            _ask(number, _block(text or " "))


log = _Log()


def config(key: str) -> str | None:
    """Returns the value that the operator configured for a key, or None."""
    if _host is None:
        return fake.config.get(key)
    found = _ask(_CONFIG, _block(key))
    return _bytes(found).decode() if found else None


def _request(request: str | Mapping[str, Any]) -> dict[str, Any]:
    r: dict[str, Any] = {"url": request} if isinstance(request, str) else dict(request)
    body = r.get("body")
    if isinstance(body, (dict, list)):
        r["body"] = _json.dumps(body)
        r["headers"] = {"content-type": "application/json", **r.get("headers", {})}
    if isinstance(r.get("body"), str):
        r["body"] = r["body"].encode()
    if "timeout" in r:
        r["timeout_ms"] = max(1, round(1000 * r.pop("timeout")))
    r.setdefault("method", "POST" if r.get("body") else "GET")
    return r


def http(url: str | Mapping[str, Any], *, method: str | None = None, headers: Mapping[str, str] | None = None,
         body: str | bytes | dict[str, Any] | list[Any] | None = None, timeout: float | None = None) -> Response:
    """Sends a request. A body that is a dictionary or list is sent as JSON. timeout is in seconds."""
    given = {"method": method, "headers": headers, "body": body, "timeout": timeout}
    r = _request({**({"url": url} if isinstance(url, str) else url), **{k: v for k, v in given.items() if v is not None}})
    if _host is None:
        return _faked("http")(r)
    _granted("http", "http")
    sent = r.pop("body", b"")
    got = _ask(_HTTP, _document(r), _block(sent))
    status, about = _ask(_STATUS), _ask(_HEADERS)
    answered = _json.loads(_bytes(about)) if about else {}
    if not status:
        return Response(0, {}, b"", answered.get("anchor-error", "network"))
    return Response(status, answered, _bytes(got))


def http_batch(requests: Iterable[str | Mapping[str, Any]]) -> list[Response]:
    """Sends up to 32 requests at the same time. The responses are in the order of the requests."""
    all = [_request(r) for r in requests]
    if _host is None:
        return [_faked("http")(r) for r in all]
    _granted("http", "http_batch")
    for r in all:
        if body := r.pop("body", b""):
            r["body"] = _block(body)
    answer = _json.loads(_bytes(_ask(_BATCH, _document({"requests": all}))))
    return [Response(r["status"], r.get("headers") or {}, _bytes(r.get("body", 0)), r.get("error", "")) for r in answer["responses"]]


def kv_get_bytes(key: str) -> bytes | None:
    """Returns the value of a key, None if there is none."""
    if _host is None:
        return fake.kv.get(key)
    _granted("kv", "kv_get")
    found = _ask(_GET, _block(key))
    return _bytes(found) if found else None


def kv_get(key: str) -> str | None:
    """Returns the value of a key as text, None if there is none."""
    value = kv_get_bytes(key)
    return None if value is None else value.decode()


def kv_set(key: str, value: str | bytes) -> bool:
    """Stores a value. False means that there is no room. An empty value deletes the key."""
    data = value.encode() if isinstance(value, str) else bytes(value)
    if _host is None:
        if data:
            fake.kv[key] = data
        else:
            fake.kv.pop(key, None)
        return True
    _granted("kv", "kv_set")
    return _ask(_SET, _block(key), _block(data)) == 0


def kv_delete(key: str) -> None:
    """Deletes a key."""
    kv_set(key, b"")


def count_tokens(text: str) -> int:
    """Counts the tokens of a text of at most 1 MiB by the host's tokenizer."""
    if _host is None:
        return fake.count_tokens(text)
    _granted("count_tokens", "count_tokens")
    return _ask(_COUNT, _block(text))


_WORDS = ("timeout", "unavailable", "refused", "invalid", "budget", "not_found")


def _answered(answer: dict[str, Any]) -> dict[str, Any]:
    word = answer.get("error")
    if word:
        raise ServiceError(word if word in _WORDS else "unavailable", answer.get("message", ""))
    return answer


def embed(texts: Sequence[str], side: str = "document") -> Embedded:
    """Makes a vector of each text. side is "document" or "query"."""
    if _host is None:
        return _faked("embed")(list(texts), side)
    _granted("embed", "embed")
    answer = _answered(_json.loads(_bytes(_ask(_EMBED, _document({"side": side, "texts": list(texts)})))))
    n = answer.get("dimension", 0)
    all = _array.array("f", _bytes(answer.get("vectors", 0)))
    if len(all) != n * len(texts):
        raise ServiceError("invalid", "the host has not answered with a vector for each text")
    return Embedded(answer.get("model", ""), n, [all[i * n:(i + 1) * n].tolist() for i in range(len(texts))])


def search(text: str = "", *, collection: str = "", k: int = 10, by: str = "", vector: Sequence[float] | None = None,
           filter: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
    """Searches a collection, and returns the hits, the best one first."""
    query = {name: value for name, value in {"text": text, "collection": collection, "k": k, "by": by, "filter": list(filter)}.items() if value}
    if _host is None:
        return _faked("search")({**query, **({"vector": list(vector)} if vector else {})})
    _granted("search", "search")
    if vector:
        query["vector"], query["dimension"] = _block(_array.array("f", vector).tobytes()), len(vector)
    return _answered(_json.loads(_bytes(_ask(_SEARCH, _document(query))))).get("hits") or []


def llm_batch(requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sends up to 32 requests to models at the same time. An answer may have the member error."""
    if _host is None:
        return [_faked("llm")(dict(r)) for r in requests]
    _granted("llm", "llm_batch")
    return _json.loads(_bytes(_ask(_LLM, _document({"requests": [dict(r) for r in requests]}))))["responses"]


def llm(prompt: str | Sequence[Mapping[str, str]], *, model: str = "", schema: Mapping[str, Any] | None = None,
        max_tokens: int = 0, temperature: float | None = None) -> dict[str, Any]:
    """Asks a model. The answer has text, and json if there is a schema."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(m) for m in prompt]
    request: dict[str, Any] = {"messages": messages}
    for name, value in {"model": model, "schema": schema, "max_tokens": max_tokens}.items():
        if value:
            request[name] = value
    if temperature is not None:
        request["temperature"] = temperature
    return _answered(llm_batch([request])[0])


_COLUMNS = {"id": "id", "score": "score", "content": "text", "metadata": "metadata", "source": "source", "priority": "priority",
            "token_count": "token_count", "created_at": "created_at", "embedding": "embedding"}


class _Item(dict):
    """An item, which says once for each column that the plugin reads it although it was not sent."""

    __slots__ = ()
    _sent: set[str] = set()

    def __missing__(self, name: str) -> Any:
        note_missing(name)
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:
        if name in self:
            return self[name]
        note_missing(name)
        return default


def note_missing(name: str) -> None:
    """Tells the host that a column was read which the request does not have."""
    column = _COLUMNS.get(name)
    if column and column not in _Item._sent:
        _Item._sent.add(column)
        log.warn(f"anchor: column {column} was not sent")


def handlers(plugin: Any) -> Callable[[str, bytes], bytes]:
    """Returns the function that answers requests with the functions of a module. The runner calls it."""

    def answer(operation: str, document: bytes) -> bytes:
        function = getattr(plugin, operation, None)
        if function is None:
            raise NotImplementedError(f"plugin.py has no function {operation}(request, settings)")
        request = _json.loads(document)
        columns, items = request.get("columns"), request.get("items")
        if isinstance(columns, list) and isinstance(items, list):
            _Item._sent = set(columns)
            request["items"] = [_Item(item) for item in items]
        got = function(request, request.get("settings") or {})
        if operation in _SILENT:
            return b"."
        if got is None:
            return b""
        return b"=" + _json.dumps(got, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")

    return answer
