import assert from "node:assert";
import test from "node:test";
import { count_tokens } from "./plugin.js";

test("counts bytes", () => {
  assert.deepEqual(count_tokens({ texts: ["", "four", "größer"] }, {}), { counts: [0, 1, 2] });
});
