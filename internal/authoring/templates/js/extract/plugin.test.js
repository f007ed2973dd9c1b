import assert from "node:assert";
import test from "node:test";
import { extract } from "./plugin.js";

test("finds facts", () => {
  const turns = [{ role: "user", content: "Hello. I live in Oslo!" }, { role: "assistant", content: "I live in a box." }];
  assert.deepEqual(extract({ turns }, { words: ["live"] }), { add: [{ content: "I live in Oslo" }] });
});

test("removes what another fact says", () => {
  const facts = [{ id: "a", content: "I live in Oslo" }, { id: "b", content: "in Oslo" }, { id: "c", content: "in Oslo" }];
  assert.deepEqual(extract({ turns: [], facts }, {}), { remove: ["b", "c"] });
});
