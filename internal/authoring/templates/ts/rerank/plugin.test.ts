// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_rerank } from "./plugin";

export function test_words_of_the_query_count(): void {
  answers(anchor_rerank, '{"query":{"query_str":"run tests"},"columns":["score","text"],"items":[{"content":"make runs","score":0.5},{"content":"run tests","score":0.25}]}',
    '{"scores":[{"row":0,"score":0.5},{"row":1,"score":0.625}]}');
  answers(anchor_rerank, '{"columns":["text"],"items":[{}]}', ""); // no change
}
