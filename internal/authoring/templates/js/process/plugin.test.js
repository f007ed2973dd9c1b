import assert from "node:assert";
import test from "node:test";
import { process } from "./plugin.js";

test("trims, cuts and drops", () => {
  const items = [{ content: " a b\n" }, { content: " \t" }, { content: "as it is" }, { content: "äöü" }];
  assert.deepEqual(process({ items }, { max_bytes: 8 }), { keep: [0, 2, 3], edits: [{ row: 0, content: "a b" }] });
  assert.deepEqual(process({ items: [{ content: "äöü" }] }, { max_bytes: 3 }), { keep: [0], edits: [{ row: 0, content: "ä" }] });
});
