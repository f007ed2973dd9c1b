import assert from "node:assert";
import test from "node:test";
import { filter } from "./plugin.js";

test("keeps items with the word", () => {
  const items = [{ content: "go test runs tests" }, { content: "make runs recipes" }, {}];
  assert.deepEqual(filter({ items }, { word: "test" }), { keep: [0] });
});
