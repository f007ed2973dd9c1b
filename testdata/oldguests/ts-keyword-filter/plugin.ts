// Keeps the items that contain any, or all, of the keywords.

import { Changes, DONE, inBatch, inJSON, NO_CHANGE, Request } from "./anchor/index";
export { anchor_abi_1, anchor_mailbox, anchor_reserve } from "./anchor/serve";

// Both lanes, from the one function below.
export function anchor_filter(): i32 { return inJSON(filter); }
export function anchor_batch_filter(at: usize, n: u32): i32 { return inBatch(filter, at, n); }

function filter(request: Request, changes: Changes): i32 {
  const words = split(request.settings.get("keywords").text());
  const all = request.settings.get("match").text() == "all";
  if (!words.length) return NO_CHANGE;
  changes.keepNone();
  for (let i = 0; i < request.length; i++) {
    if (matches(request.textStart(i), request.textSize(i), words, all)) changes.keep(i);
  }
  return DONE;
}

// The words as UTF-8, in lower case, since that is how texts lie in memory.
function split(keywords: string): ArrayBuffer[] {
  const words: ArrayBuffer[] = [];
  const parts = keywords.split(" ");
  for (let i = 0; i < parts.length; i++) {
    if (!parts[i].length) continue;
    const word = String.UTF8.encode(parts[i]);
    const bytes = Uint8Array.wrap(word);
    for (let k = 0; k < bytes.length; k++) bytes[k] = lower(bytes[k]);
    words.push(word);
  }
  return words;
}

function matches(text: usize, size: u32, words: ArrayBuffer[], all: bool): bool {
  for (let w = 0; w < words.length; w++) {
    const word = words[w];
    if (contains(text, size, changetype<usize>(word), word.byteLength) != all) return !all;
  }
  return all;
}

function contains(text: usize, size: u32, word: usize, length: u32): bool {
  if (length > size) return false;
  const last = text + size - length;
  const head = load<u8>(word);
  for (let at = text; at <= last; at++) {
    if (lower(load<u8>(at)) != head) continue;
    let i: u32 = 1;
    while (i < length && lower(load<u8>(at + i)) == load<u8>(word + i)) i++;
    if (i == length) return true;
  }
  return false;
}

@inline
function lower(c: u8): u8 {
  return c - 0x41 < 26 ? c | 0x20 : c;
}
