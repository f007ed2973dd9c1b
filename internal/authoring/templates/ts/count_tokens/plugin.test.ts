// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_count_tokens } from "./plugin";

export function test_counts(): void {
  answers(anchor_count_tokens, '{"texts":["","four","and more"]}',
    '{"counts":[0,1,2]}');
}
