import assert from "node:assert";
import test from "node:test";
import { transform_query } from "./plugin.js";

test("writes abbreviations out", () => {
  const query = { query_str: "cancel a ctx" };
  assert.deepEqual(transform_query({ query }), { queries: [query, { query_str: "cancel a context" }] });
});

test("changes nothing without abbreviations", () => {
  assert.equal(transform_query({ query: { query_str: "cancel a request" } }), undefined);
});
