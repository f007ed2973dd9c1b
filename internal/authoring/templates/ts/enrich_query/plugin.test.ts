// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_enrich_query } from "./plugin";

export function test_adds_memories(): void {
  answers(anchor_enrich_query, '{"query":{"query_str":"how old?"},"items":[{"content":"about Go"}]}',
    '{"query_str":"how old?\\u000aabout Go"}');
  answers(anchor_enrich_query, '{"query":{"query_str":"how old?"}}', ""); // no change
}
