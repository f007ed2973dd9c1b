// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_estimate_tokens, anchor_provide } from "./plugin";

export function test_puts_the_note_first(): void {
  answers(anchor_provide, '{"messages":[{"role":"user","content":"hello"}],"settings":{"note":"Be kind."}}',
    '{"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"hello"}]}');
}

export function test_estimates_the_note(): void {
  answers(anchor_estimate_tokens, '{"settings":{"note":"Be kind."}}',
    '{"tokens":2}');
}
