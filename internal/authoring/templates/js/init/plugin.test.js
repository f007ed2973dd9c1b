import assert from "node:assert";
import test from "node:test";
import { filter, init } from "./plugin.js";

test("drops items with a word", () => {
  init({}, { words: ["Draft"] });
  assert.deepEqual(filter({ items: [{ content: "a DRAFT of it" }, { content: "the final text" }] }), { keep: [1] });
});

test("refuses an empty word", () => {
  assert.throws(() => init({}, { words: [" "] }), /is no word/);
});
