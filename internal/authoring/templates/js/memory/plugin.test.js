import assert from "node:assert";
import test from "node:test";
import { memory } from "./plugin.js";

test("recalls facts, the first on top", () => {
  const { items } = memory({}, { facts: ["likes short answers", "writes Go"] });
  assert.deepEqual(items.map((item) => item.score), [1, 0.5]);
});
