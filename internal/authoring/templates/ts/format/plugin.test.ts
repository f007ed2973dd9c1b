// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_format } from "./plugin";

export function test_formats(): void {
  answers(anchor_format, '{"items":[{"source":"memory","content":"likes Go"}],"settings":{"title":"Notes"}}',
    '{"format_type":"markdown","output":"# Notes\\u000a\\u000a## memory\\u000a\\u000alikes Go\\u000a"}');
}
