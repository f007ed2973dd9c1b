// Rates items by the words of the query that they contain.

import { Changes, DONE, inBatch, inJSON, NO_CHANGE, Request } from "./anchor/index";
export { anchor_abi_1, anchor_mailbox, anchor_reserve } from "./anchor/serve";

// Both lanes, from the one function below.
export function anchor_rerank(): i32 { return inJSON(rerank); }
export function anchor_batch_rerank(at: usize, n: u32): i32 { return inBatch(rerank, at, n); }

// The terms, which are the distinct words of the query: where each lies, its size
// and its hash.
const maxTerms = 32;
const termStart = new StaticArray<usize>(maxTerms);
const termSize = new StaticArray<usize>(maxTerms);
const termHash = new StaticArray<u32>(maxTerms);
let width = 0;

function rerank(request: Request, changes: Changes): i32 {
  queryTerms(request.queryStart, request.querySize);
  const n = request.length;
  const counts = new StaticArray<u32>(width * n); // of each term in each item
  const lengths = new StaticArray<u32>(n);
  const holding = new StaticArray<u32>(width); // items that hold a term
  let total: u64 = 0;
  for (let i = 0; i < n; i++) {
    lengths[i] = count(request.textStart(i), request.textSize(i), counts, i * width);
    total += lengths[i];
    for (let t = 0; t < width; t++) if (counts[i * width + t]) holding[t]++;
  }
  if (!width || !total) return NO_CHANGE;

  const weights = new StaticArray<f64>(width);
  let sum: f64 = 0;
  for (let t = 0; t < width; t++) {
    weights[t] = 1 - <f64>holding[t] / <f64>(n + 1);
    sum += weights[t];
  }
  const average = <f64>total / <f64>n;
  for (let i = 0; i < n; i++) {
    const norm = 1.2 * (0.25 + 0.75 * <f64>lengths[i] / average);
    let score: f64 = 0;
    for (let t = 0; t < width; t++) {
      const tf = <f64>counts[i * width + t];
      score += weights[t] * tf / (tf + norm);
    }
    changes.setScore(i, score / sum);
  }
  return DONE;
}

// Takes the terms from the query, in the order in which they first occur.
function queryTerms(start: usize, size: u32): void {
  width = 0;
  const end = start + size;
  for (let at = next(start, end); at && width < maxTerms; at = next(at, end)) {
    if (find() >= 0) continue;
    termStart[width] = wordStart;
    termSize[width] = wordSize;
    termHash[width++] = wordHash;
  }
}

// Counts the terms of a text from counts[from] on and returns how many words it has.
function count(start: usize, size: u32, counts: StaticArray<u32>, from: i32): u32 {
  let length: u32 = 0;
  const end = start + size;
  for (let at = next(start, end); at; at = next(at, end)) {
    length++;
    const t = find();
    if (t >= 0) counts[from + t]++;
  }
  return length;
}

// The word that next found.
let wordStart: usize = 0;
let wordSize: usize = 0;
let wordHash: u32 = 0;

// Finds the next word from an address on and returns where it ends, or 0. A word is
// letters and digits of ASCII, and all bytes beyond ASCII.
function next(at: usize, end: usize): usize {
  while (at < end && !inWord(load<u8>(at))) at++;
  wordStart = at;
  let hash: u32 = 0;
  while (at < end && inWord(load<u8>(at))) hash = hash * 31 + lower(load<u8>(at++));
  wordSize = at - wordStart;
  wordHash = hash;
  return wordSize ? at : 0;
}

// The term that the word is, or -1.
function find(): i32 {
  for (let t = 0; t < width; t++) {
    if (termHash[t] == wordHash && termSize[t] == wordSize && same(termStart[t], wordStart, wordSize)) return t;
  }
  return -1;
}

function same(a: usize, b: usize, n: usize): bool {
  for (let i: usize = 0; i < n; i++) if (lower(load<u8>(a + i)) != lower(load<u8>(b + i))) return false;
  return true;
}

@inline
function inWord(c: u8): bool {
  return c >= 0x80 || c - 0x30 < 10 || (c | 0x20) - 0x61 < 26;
}

@inline
function lower(c: u8): u8 {
  return c - 0x41 < 26 ? c | 0x20 : c;
}
