// The loop of an agent with the SDK of OpenAI.
import OpenAI from "openai";

import { session, readLog } from "./session.mjs";

const client = new OpenAI(), assemble = session();
const parameters = { type: "object", properties: { page: { type: "integer" } }, required: ["page"] };
const tools = [{ type: "function", function: { name: "read_log", description: "Returns a page of the server's log.", parameters } }];
let body = { model: "gpt-5", tools, messages: [{ role: "user", content: "Which requests failed?" }] };
for (;;) {
  body = await assemble(body);
  const { choices } = await client.chat.completions.create(body);
  const answer = choices[0].message;
  if (!answer.tool_calls?.length) {
    console.log(answer.content);
    break;
  }
  body.messages.push(answer);
  for (const call of answer.tool_calls) {
    body.messages.push({ role: "tool", tool_call_id: call.id, content: readLog(JSON.parse(call.function.arguments)) });
  }
}
