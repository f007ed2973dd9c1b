// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_compact } from "./plugin";

export function test_keeps_questions(): void {
  answers(anchor_compact, '{"summary":"A talk.","turns":[{"role":"user","content":"what is a slice?"}],"settings":{"max_words":3}}',
    '{"summary":"A talk.\\u000aAsked: what is a"}');
}
