"""The loop of an agent with the SDK of OpenAI."""
import json

import openai

from session import read_log, session

client, assemble = openai.OpenAI(), session()
tools = [{"type": "function", "function": {
    "name": "read_log", "description": "Returns a page of the server's log.",
    "parameters": {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}}}]
body = {"model": "gpt-5", "tools": tools, "messages": [{"role": "user", "content": "Which requests failed?"}]}
while True:
    body = assemble(body)
    answer = client.chat.completions.create(**body).choices[0].message
    if not answer.tool_calls:
        break
    body["messages"].append(answer.model_dump(exclude_none=True))
    for call in answer.tool_calls:
        body["messages"].append({"role": "tool", "tool_call_id": call.id, "content": read_log(**json.loads(call.function.arguments))})
print(answer.content)
