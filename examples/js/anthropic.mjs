// The loop of an agent with the SDK of Anthropic.
import Anthropic from "@anthropic-ai/sdk";

import { session, readLog } from "./session.mjs";

const client = new Anthropic(), assemble = session();
const tools = [{
  name: "read_log", description: "Returns a page of the server's log.",
  input_schema: { type: "object", properties: { page: { type: "integer" } }, required: ["page"] },
}];
let body = { model: "claude-sonnet-4-5", max_tokens: 500, tools, messages: [{ role: "user", content: "Which requests failed?" }] };
for (;;) {
  body = await assemble(body);
  const answer = await client.messages.create(body);
  const calls = answer.content.filter((block) => block.type === "tool_use");
  if (calls.length === 0) {
    console.log(answer.content[0].text);
    break;
  }
  const results = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: readLog(call.input) }));
  body.messages.push({ role: "assistant", content: answer.content }, { role: "user", content: results });
}
