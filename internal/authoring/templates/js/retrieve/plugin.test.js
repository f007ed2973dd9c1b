import assert from "node:assert";
import test from "node:test";
import { retrieve } from "./plugin.js";

test("finds notes, the best first", () => {
  const found = retrieve({ query: { query_str: "compiles a package" }, top_k: 2 }, {});
  assert.deepEqual(found.items.map((item) => item.key), ["build", "test"]);
});

test("finds nothing without a query", () => {
  assert.deepEqual(retrieve({ query: {}, top_k: 2 }, {}), { items: [] });
});
