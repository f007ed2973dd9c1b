import assert from "node:assert";
import test from "node:test";
import { distill } from "./plugin.js";

test("notes questions and results", () => {
  const messages = [{ role: "user", content: "what is a slice?" }, { role: "assistant", content: "let me look" }];
  assert.deepEqual(distill({ mode: "observe", messages }, { max_words: 3 }), { add: ["Asked: what is a"] });
});

test("reflects on questions", () => {
  const request = { mode: "reflect", observations: ["Asked: a", "Found: b"], reflection: "A talk.", max_tokens: 100 };
  assert.deepEqual(distill(request, {}), { reflection: "Asked: a\nA talk." });
});
