"""The loop of an agent with the SDK of Anthropic."""
import anthropic

from session import read_log, session

client, assemble = anthropic.Anthropic(), session()
tools = [{"name": "read_log", "description": "Returns a page of the server's log.",
          "input_schema": {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}}]
body = {"model": "claude-sonnet-4-5", "max_tokens": 500, "tools": tools,
        "messages": [{"role": "user", "content": "Which requests failed?"}]}
while True:
    body = assemble(body)
    answer = client.messages.create(**body)
    calls = [block for block in answer.content if block.type == "tool_use"]
    if not calls:
        break
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": read_log(**call.input)} for call in calls]
    body["messages"] += [{"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]},
                         {"role": "user", "content": results}]
print(answer.content[0].text)
