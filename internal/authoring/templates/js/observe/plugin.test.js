import assert from "node:assert";
import test from "node:test";
import { warning } from "./plugin.js";

test("warns of slow steps", () => {
  assert.equal(warning({ type: "step_end", step: "search", time_ms: 101 }, 100), "step search took 101 ms");
  assert.equal(warning({ type: "step_end", step: "search", time_ms: 100 }, 100), null);
  assert.equal(warning({ type: "pipeline_end", time_ms: 101 }, 100), null);
});
