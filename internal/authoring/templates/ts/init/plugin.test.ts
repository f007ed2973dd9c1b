// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_filter, anchor_init } from "./plugin";

export function test_drops_words(): void {
  answers(anchor_init, '{"settings":{"words":["Draft"]}}', "");
  answers(anchor_filter, '{"columns":["text"],"items":[{"content":"a DRAFT of it"},{"content":"the final text"}]}',
    '{"keep":[1]}');
}

export function test_refuses_an_empty_word(): void {
  answers(anchor_init, '{"settings":{"words":[" "]}}', "error");
}
