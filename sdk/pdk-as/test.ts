// Tests of a plugin, which test.mjs runs in Node.js: every exported function of plugin.test.ts
// whose name begins with test_. An operation is called with a request of ABI.md:
//
//     export function test_labels(): void {
//       answers(anchor_classify, '{"query":{"query_str":"Panic!"}}', '{"label":"code"}');
//     }
//
// Requests name the columns of their items: {"columns":["text"],"items":[…]}. The host is not
// there: what is logged goes to stderr, and there is no configuration, key-value store, HTTP or
// tokenizer. The services embed, search and llm answer what mock and mockVectors say, else nothing.

import { block, blockOf, bytesOf, decode, DONE, NO_CHANGE } from "./host";
import { anchor_mailbox, anchor_reserve } from "./serve";

// @ts-ignore: decorator
@external("test", "failed")
declare function failed(): bool;
// @ts-ignore: decorator
@external("test", "mock")
declare function setMock(service: u64, document: u64): void;
// @ts-ignore: decorator
@external("test", "asked")
declare function lastAsked(): u64;

/**
 * Makes a document of ABI.md, section 7, the answer of the service embed, search or llm. It stays so
 * until the next one, and until the end of the test.
 */
export function mock(service: string, document: string): void { setMock(block(service), block(document)); }

/** Makes vectors the answer of the service embed: all their numbers, one vector after the other. */
export function mockVectors(dimension: i32, values: f32[]): void {
  const bytes = new Uint8Array(4 * values.length);
  for (let i = 0; i < values.length; i++) store<f32>(bytes.dataStart + (<usize>i << 2), values[i]);
  mock("embed", '{"model":"test","dimension":' + dimension.toString() + ',"vectors":' + blockOf(bytes).toString() + "}");
}

/** The document that a service was asked last. */
export function asked(): string { return decode(bytesOf(lastAsked())); }

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
