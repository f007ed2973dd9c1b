// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_extract } from "./plugin";

export function test_finds_facts(): void {
  answers(anchor_extract, '{"turns":[{"role":"user","content":"Hello. I live in Oslo!"}],"settings":{"words":["live"]}}',
    '{"add":[{"content":"I live in Oslo"}]}');
}

export function test_removes_what_another_fact_says(): void {
  answers(anchor_extract, '{"turns":[],"facts":[{"id":"a","content":"I live in Oslo"},{"id":"b","content":"in Oslo"}]}',
    '{"remove":["b"]}');
}
