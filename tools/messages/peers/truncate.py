"""Truncate generated histories with other libraries, and write what each would send.

truncate.py IN OUT: reads IN/FORM/SEED.json and writes OUT/ROW/FORM/SEED.json, a request body, or
OUT/ROW/FORM/SEED.error. Every library counts tokens in its own way and is given half of its own
count of the whole history. Messages are read and written with the library's own converters.
"""

import asyncio
import json
import pathlib
import sys
import warnings

from agents import SQLiteSession
from agents.run_internal.items import drop_orphan_function_calls
from langchain_anthropic.chat_models import _format_messages
from langchain_core.messages import convert_to_messages, trim_messages
from langchain_core.messages.utils import count_tokens_approximately
from langchain_openai.chat_models.base import _construct_responses_api_input, _convert_message_to_dict
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.llms.openai.utils import from_openai_message_dicts, to_openai_message_dicts

warnings.filterwarnings("ignore")

CHAT, ANTHROPIC, RESPONSES = "openai", "anthropic", "openai-responses"


# LangChain: histories come in the form of Chat Completions and leave in each form.

TRIM = {
    # The defaults.
    "LangChain trim_messages (last)": {},
    "LangChain trim_messages (last, start_on human)": {"start_on": "human", "include_system": True},
    # What the guides of LangGraph show.
    "LangGraph guide (last, start_on human, end_on human or tool)": {"start_on": "human", "end_on": ("human", "tool")},
    "LangChain trim_messages (last, allow_partial)": {"allow_partial": True, "include_system": True},
    "LangChain trim_messages (first)": {"strategy": "first"},
}


def langchain_rows(body):
    messages = convert_to_messages(body["messages"])
    half = count_tokens_approximately(messages) // 2
    yield "LangChain (converted, not truncated)", lambda: messages
    for row, options in TRIM.items():
        yield row, lambda o=options: trim_messages(
            messages, **{"strategy": "last", "max_tokens": half, "token_counter": count_tokens_approximately, **o})


def langchain_forms(body, messages):
    yield CHAT, lambda: {**body, "messages": [_convert_message_to_dict(m) for m in messages]}
    yield ANTHROPIC, lambda: anthropic_body(*_format_messages(messages, model="claude-opus-4-8"))
    yield RESPONSES, lambda: responses_body(body, _construct_responses_api_input(messages))


# LlamaIndex, in and out in the form of Chat Completions only: what its converters make of the same
# histories for Anthropic is refused before anything is truncated.


def llama_rows(body):
    messages = from_openai_message_dicts(body["messages"])
    words = lambda text: text.split()
    half = sum(len(words(str(m.content))) for m in messages) // 2
    yield "LlamaIndex (converted, not truncated)", lambda: messages
    yield "LlamaIndex ChatMemoryBuffer", lambda: ChatMemoryBuffer.from_defaults(
        chat_history=messages, token_limit=half, tokenizer_fn=words).get()

    def memory():
        m = Memory.from_defaults(
            session_id="s", token_limit=half, chat_history_token_ratio=1.0, token_flush_size=1, tokenizer_fn=words)
        for one in messages:
            m.put(one)
        return m.get()

    yield "LlamaIndex Memory", memory


def llama_forms(body, messages):
    yield CHAT, lambda: {**body, "messages": to_openai_message_dicts(messages)}


# The session of the OpenAI Agents SDK cuts by number of items; half of them here.


def agents_rows(body):
    async def session():
        s = SQLiteSession("s", ":memory:")
        await s.add_items(body["input"])
        return await s.get_items(limit=len(body["input"]) // 2)

    kept = asyncio.run(session())
    yield "OpenAI Agents SDK session limit", lambda: kept
    yield "OpenAI Agents SDK session limit, as its runner sends it", lambda: drop_orphan_function_calls(kept)


def agents_forms(body, items):
    yield RESPONSES, lambda: {**body, "input": items}


def anthropic_body(system, messages):
    body = {"model": "claude-opus-4-8", "max_tokens": 4096, "messages": messages}
    return {**body, "system": system} if system else body


def responses_body(body, items):
    return {"model": body["model"], "input": items, "store": False}


def plain(value):
    """The SDKs of Python hold models of pydantic in their dictionaries."""
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else str(value)


LIBRARIES = [(CHAT, langchain_rows, langchain_forms), (CHAT, llama_rows, llama_forms), (RESPONSES, agents_rows, agents_forms)]


def write(out, row, form, name, make):
    folder = out / row / form
    folder.mkdir(parents=True, exist_ok=True)
    try:
        (folder / f"{name}.json").write_text(json.dumps(make(), default=plain))
    except Exception as e:  # a library that raises gives nothing to send
        (folder / f"{name}.error").write_text(f"{type(e).__name__}: {e}"[:300])


def main(source, out):
    for form, rows, forms in LIBRARIES:
        for file in sorted((source / form).glob("*.json")):
            body = json.loads(file.read_text())
            for row, truncate in rows(body):
                try:
                    messages = truncate()
                except Exception as e:
                    write(out, row, form, file.stem, lambda e=e: (_ for _ in ()).throw(e))
                    continue
                for target, make in forms(body, messages):
                    write(out, row, target, file.stem, make)


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
