"""A session of an agent: anchor-host prepares each body of a request for the model."""
import json
import os
import urllib.request
import uuid

SERVICE = os.environ.get("ANCHOR_URL", "http://127.0.0.1:8790")


def session(max_tokens=2000):
    """Returns the function for the bodies of one session, each with all messages."""
    url = f"{SERVICE}/v1/assemble?run={uuid.uuid4().hex}&max_tokens={max_tokens}"

    def assemble(body):
        request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["body"]

    return assemble


def read_log(page: int) -> str:
    """Returns a page of the server's log."""
    return "\n".join(f"page {page}, line {n}: GET /item/{n * n} 200" for n in range(3000))
