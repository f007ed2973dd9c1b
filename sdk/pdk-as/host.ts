// What the host offers: the functions of Extism's kernel, by which documents,
// messages and configuration travel. A block is a piece of the host's memory,
// named by a handle; 0 is no block. Only what a plugin uses is imported.

import { Buffer } from "./buffer";

// @ts-ignore: decorator
@external("extism:host/env", "alloc")
declare function alloc(length: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "length")
declare function length(block: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "load_u8")
declare function loadByte(at: u64): i32;
// @ts-ignore: decorator
@external("extism:host/env", "load_u64")
declare function loadWord(at: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "store_u8")
declare function storeByte(at: u64, value: i32): void;
// @ts-ignore: decorator
@external("extism:host/env", "store_u64")
declare function storeWord(at: u64, value: u64): void;
// @ts-ignore: decorator
@external("extism:host/env", "input_length")
declare function inputLength(): u64;
// @ts-ignore: decorator
@external("extism:host/env", "input_load_u8")
declare function inputByte(at: u64): i32;
// @ts-ignore: decorator
@external("extism:host/env", "input_load_u64")
declare function inputWord(at: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "output_set")
declare function outputSet(block: u64, length: u64): void;
// @ts-ignore: decorator
@external("extism:host/env", "error_set")
declare function errorSet(block: u64): void;
// @ts-ignore: decorator
@external("extism:host/env", "config_get")
declare function configGet(key: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "log_debug")
declare function logDebug(message: u64): void;
// @ts-ignore: decorator
@external("extism:host/env", "log_info")
declare function logInfo(message: u64): void;
// @ts-ignore: decorator
@external("extism:host/env", "log_warn")
declare function logWarn(message: u64): void;
// @ts-ignore: decorator
@external("extism:host/env", "log_error")
declare function logError(message: u64): void;

/** What an operation returns when its answer holds. */
export const DONE: i32 = 0;
/** What an operation returns when everything stays as it is. */
export const NO_CHANGE: i32 = 1;
/** What an operation returns after an error: see fail. */
export const FAILED: i32 = -1;

/** Ends an operation with an error that the operator sees: `return fail("…")`. */
export function fail(message: string): i32 {
  errorSet(block(message));
  return FAILED;
}

/** Writes messages to the host's log. */
export namespace log {
  export function debug(message: string): void { logDebug(block(message)); }
  export function info(message: string): void { logInfo(block(message)); }
  export function warn(message: string): void { logWarn(block(message)); }
  export function error(message: string): void { logError(block(message)); }
}

/** The value that the operator's configuration has for a key, or null. */
export function config(key: string): string | null {
  const value = configGet(block(key));
  return value ? decode(bytesOf(value)) : null;
}

/** The bytes of a block, none for 0. */
export function bytesOf(block: u64): Uint8Array {
  const n = block ? <u32>length(block) : 0;
  const bytes = new Uint8Array(n);
  const to = bytes.dataStart;
  let i: u32 = 0;
  for (; i + 8 <= n; i += 8) store<u64>(to + i, loadWord(block + i));
  for (; i < n; i++) store<u8>(to + i, <u8>loadByte(block + i));
  return bytes;
}

/** The text of bytes in UTF-8. */
export function decode(bytes: Uint8Array): string {
  return String.UTF8.decodeUnsafe(bytes.dataStart, bytes.length);
}

/** Copies bytes into a new block, 0 for none. */
export function blockOf(bytes: Uint8Array | null): u64 {
  return bytes === null || bytes.length == 0 ? 0 : copy(bytes.dataStart, bytes.length);
}

/**
 * Called in place of AssemblyScript's own abort, by `throw` and by failed checks
 * (index out of range, out of memory): the message goes to the log, and the call
 * ends. Named on the command line: --use abort=anchor/host/abort.
 */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  // Nothing is allocated here: memory may be what is missing.
  const what = message === null ? "aborted" : message;
  const where = file === null ? "" : file;
  const n = String.UTF8.byteLength(what) + String.UTF8.byteLength(where) + 14;
  const text = alloc(n);
  let at = put(text, what);
  at = put(at, " (");
  at = put(at, where);
  at = put(at, ":");
  for (let unit: u32 = 1_000_000_000; unit; unit /= 10) {
    if (line >= unit || unit == 1) storeByte(at++, 0x30 + line / unit % 10);
  }
  put(at, ")");
  for (at++; at < text + n; at++) storeByte(at, 0x20);
  logError(text);
  unreachable();
}

// Writes text as UTF-8; halves of surrogate pairs become U+FFFD.
function put(at: u64, text: string): u64 {
  for (let i = 0; i < text.length; i++) {
    let c = unit(text, i);
    if (c >> 11 == 0x1b) {
      const low = i + 1 < text.length ? unit(text, i + 1) : 0;
      if (c < 0xdc00 && low >> 10 == 0x37) {
        c = 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
        i++;
      } else c = 0xfffd;
    }
    const more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    storeByte(at++, more ? (0xf00 >> more + 1 & 0xff) | c >> 6 * more : c);
    for (let left = more; left > 0; left--) storeByte(at++, 0x80 | (c >> 6 * (left - 1) & 63));
  }
  return at;
}

function unit(text: string, i: i32): u32 {
  return load<u16>(changetype<usize>(text) + (<usize>i << 1));
}

/** Copies the request document into a buffer. */
export function input(to: Buffer): void {
  const n = <u32>inputLength();
  to.clear();
  const start = to.grow(n);
  let i: u32 = 0;
  for (; i + 8 <= n; i += 8) store<u64>(start + i, inputWord(i));
  for (; i < n; i++) store<u8>(start + i, <u8>inputByte(i));
}

/** Makes the bytes of a buffer the answer document. */
export function output(from: Buffer): void {
  outputSet(copy(from.start, from.length), from.length);
}

/** Copies text into a new block. */
export function block(text: string): u64 {
  const bytes = new Buffer();
  bytes.addText(text);
  const handle = copy(bytes.start, bytes.length);
  bytes.free();
  return handle;
}

function copy(from: usize, n: u32): u64 {
  const to = alloc(n);
  let i: u32 = 0;
  for (; i + 8 <= n; i += 8) storeWord(to + i, load<u64>(from + i));
  for (; i < n; i++) storeByte(to + i, load<u8>(from + i));
  return to;
}
