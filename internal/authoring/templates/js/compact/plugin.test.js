import assert from "node:assert";
import test from "node:test";
import { compact } from "./plugin.js";

test("keeps questions", () => {
  const turns = [{ role: "user", content: "what is a slice?" }, { role: "assistant", content: "a view" }];
  assert.deepEqual(compact({ turns, summary: "A talk." }, { max_words: 3 }), { summary: "A talk.\nAsked: what is a" });
});
