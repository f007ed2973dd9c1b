// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_process } from "./plugin";

export function test_tidies(): void {
  answers(anchor_process, '{"columns":["text"],"items":[{"content":"fine"},{"content":" "},{"content":" größer "}],"settings":{"max_bytes":4}}',
    '{"keep":[0,2],"edits":[{"row":2,"content":"grö"}]}');
}
