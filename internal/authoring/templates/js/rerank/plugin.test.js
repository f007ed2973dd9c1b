import assert from "node:assert";
import test from "node:test";
import { rerank } from "./plugin.js";

test("scores items by the words they contain", () => {
  const request = { query: { query_str: "go Test" }, items: [{ content: "make" }, { content: "go test", score: 1 }] };
  assert.deepEqual(rerank(request, { weight: 0.5 }), { scores: [{ row: 0, score: 0 }, { row: 1, score: 1 }] });
});

test("changes nothing without a query", () => {
  assert.equal(rerank({ query: {}, items: [{}] }, {}), undefined);
});
