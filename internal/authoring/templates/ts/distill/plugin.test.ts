// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_distill } from "./plugin";

export function test_notes_questions(): void {
  answers(anchor_distill, '{"mode":"observe","messages":[{"role":"user","content":"what is a slice?"}],"settings":{"max_words":3}}',
    '{"add":["Asked: what is a"]}');
}

export function test_reflects(): void {
  answers(anchor_distill, '{"mode":"reflect","observations":["Asked: a","Found: b"],"reflection":"A talk.","max_tokens":100}',
    '{"reflection":"Asked: a\\u000aA talk."}');
}
