// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_classify } from "./plugin";

export function test_labels(): void {
  answers(anchor_classify, '{"query":{"query_str":"Panic!"},"settings":{"code_words":["panic"]}}',
    '{"label":"code"}');
  answers(anchor_classify, '{"query":{"query_str":"who wrote this?"}}',
    '{"label":"prose"}');
}
