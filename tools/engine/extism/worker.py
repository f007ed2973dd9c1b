"""Runs modules in the Extism SDK for Python. A line of JSON asks for an instance, for a call, or ends an instance."""
import base64
import json
import sys

import extism
from extism.extism import CompiledPlugin

compiled, instances = {}, {}


def answer(ask):
    if "open" in ask:
        config = ask.get("config") or {}
        key = json.dumps([ask["open"], config])
        if key not in compiled:
            with open(ask["open"], "rb") as file:
                compiled[key] = CompiledPlugin({"wasm": [{"data": file.read()}], "config": config}, wasi=True)
        instances[ask["id"]] = extism.Plugin(compiled[key])
        return {}
    if "close" in ask:
        del instances[ask["close"]]
        return {}
    out = instances[ask["call"]].call(ask["function"], base64.b64decode(ask["input"]))
    return {"output": base64.b64encode(out).decode()}


for line in sys.stdin:
    try:
        reply = answer(json.loads(line))
    except extism.Error as failed:
        reply = {"error": str(failed)}
    print(json.dumps(reply), flush=True)
