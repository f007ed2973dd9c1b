import assert from "node:assert";
import test from "node:test";
import { enrich_query } from "./plugin.js";

test("adds memories", () => {
  const request = { query: { query_str: "how old?" }, items: [{ content: "about Go" }, { content: "not this one" }] };
  assert.deepEqual(enrich_query(request, { max_items: 1 }), { query_str: "how old?\nabout Go" });
});

test("changes nothing without memories", () => {
  assert.equal(enrich_query({ query: {}, items: [] }, {}), undefined);
});
