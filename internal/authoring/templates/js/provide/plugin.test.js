import assert from "node:assert";
import test from "node:test";
import { estimate_tokens, provide } from "./plugin.js";

test("puts the note first", () => {
  const hello = { role: "user", content: "hello" };
  const reply = provide({ messages: [hello] }, { note: "Be kind." });
  assert.deepEqual(reply.messages.map((message) => message.content), ["Be kind.", "hello"]);
  assert.equal(provide({ messages: [hello] }, {}), undefined);
});

test("estimates the note", () => {
  assert.deepEqual(estimate_tokens({}, { note: "Be kind." }), { tokens: 2 });
});
