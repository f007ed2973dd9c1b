// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_retrieve } from "./plugin";

export function test_finds_the_best_note(): void {
  answers(anchor_retrieve, '{"query":{"query_str":"vet mistakes"},"top_k":1}',
    '{"items":[{"content":"go vet reports likely mistakes","key":"vet","score":1.0}]}');
}
