// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_filter } from "./plugin";

export function test_keeps_items_with_the_word(): void {
  answers(anchor_filter, '{"columns":["text"],"items":[{"content":"go test"},{"content":"make"}],"settings":{"word":"test"}}',
    '{"keep":[0]}');
}
