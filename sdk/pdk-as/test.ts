// Tests of a plugin, which test.mjs runs in Node.js: every exported function of plugin.test.ts
// whose name begins with test_. An operation is called with a request of ABI.md:
//
//     export function test_labels(): void {
//       answers(anchor_classify, '{"query":{"query_str":"Panic!"}}', '{"label":"code"}');
//     }
//
// Requests name the columns of their items: {"columns":["text"],"items":[…]}. The host is not
// there: what is logged goes to stderr, and there is no configuration, key-value store, HTTP or
// tokenizer.

import { DONE, NO_CHANGE } from "./host";
import { anchor_mailbox, anchor_reserve } from "./serve";

// @ts-ignore: decorator
@external("test", "failed")
declare function failed(): bool;

/** The answer of an operation: "" if there is none or no change, "error" if the call fails. */
export function answerOf(operation: () => i32, request: string): string {
  const bytes = String.UTF8.encode(request);
  const n = bytes.byteLength;
  memory.copy(anchor_reserve(n), changetype<usize>(bytes), n);
  const box = anchor_mailbox();
  store<u32>(box, n, 24);
  const status = operation();
  if (failed() || (status != DONE && status != NO_CHANGE)) return "error";
  return status == DONE ? String.UTF8.decodeUnsafe(load<u32>(box, 12), load<u32>(box, 16)) : "";
}

/** Checks the answer of an operation, character by character. */
export function answers(operation: () => i32, request: string, want: string): void {
  const got = answerOf(operation, request);
  assert(got == want, "\n  want " + want + "\n  got  " + got);
}
