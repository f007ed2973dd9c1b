import assert from "node:assert";
import test from "node:test";
import { classify } from "./plugin.js";

test("labels queries", () => {
  const label = (query_str) => classify({ query: { query_str } }, { code_words: ["panic"] }).label;
  assert.equal(label("Panic in a handler"), "code");
  assert.equal(label("who wrote this?"), "prose");
});
