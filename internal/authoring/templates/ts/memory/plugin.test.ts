// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_memory } from "./plugin";

export function test_recalls_facts(): void {
  answers(anchor_memory, '{"settings":{"facts":["short answers","writes Go"]}}',
    '{"items":[{"content":"short answers","source":"memory","score":1.0},{"content":"writes Go","source":"memory","score":0.5}]}');
}
