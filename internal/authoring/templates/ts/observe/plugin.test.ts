// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_observe, warning } from "./plugin";

export function test_warns_of_slow_steps(): void {
  assert(warning("step_end", "search", 101, 100) == "step search took 101 ms");
  assert(warning("step_end", "search", 100, 100) == "");
  assert(warning("pipeline_end", "", 101, 100) == "");
}

export function test_takes_events(): void {
  answers(anchor_observe, '{"type":"step_end","step":"search","time_ms":101}', ""); // there is no answer
}
