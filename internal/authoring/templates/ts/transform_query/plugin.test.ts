// Tests of plugin.ts, without the host: npm test

import { answers } from "./anchor/test";
import { anchor_transform_query } from "./plugin";

export function test_writes_abbreviations_out(): void {
  answers(anchor_transform_query, '{"query":{"query_str":"cancel a ctx"}}',
    '{"queries":[{"query_str":"cancel a ctx"},{"query_str":"cancel a context"}]}');
  answers(anchor_transform_query, '{"query":{"query_str":"cancel"}}', ""); // no change
}
