// Rates items by the words of the query that they contain.

import { Changes, DONE, inBatch, inJSON, NO_CHANGE, Request } from "./anchor/index";
export { anchor_abi_1, anchor_mailbox, anchor_reserve } from "./anchor/serve";

// Both lanes, from the one function below.
export function anchor_rerank(): i32 { return inJSON(rerank); }
export function anchor_batch_rerank(at: usize, n: u32): i32 { return inBatch(rerank, at, n); }

const maxTerms = 32;
const terms = new Array<Token>();

function rerank(request: Request, changes: Changes): i32 {
  queryTerms(request.queryStart, request.querySize);
  const width = terms.length;
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

// The distinct words of the query, in the order in which they first occur.
function queryTerms(start: usize, size: u32): void {
  terms.length = 0;
  for (const token = new Token(start, start + size); token.next() && terms.length < maxTerms;) {
    if (find(token) < 0) terms.push(token.copy());
  }
}

// Counts the terms of a text from counts[from] on and returns how many words it has.
function count(start: usize, size: u32, counts: StaticArray<u32>, from: i32): u32 {
  let length: u32 = 0;
  cursor.reset(start, start + size);
  while (cursor.next()) {
    length++;
    const t = find(cursor);
    if (t >= 0) counts[from + t]++;
  }
  return length;
}

function find(token: Token): i32 {
  for (let t = 0; t < terms.length; t++) if (unchecked(terms[t]).equals(token)) return t;
  return -1;
}

// A word: letters and digits of ASCII, and all bytes beyond ASCII.
class Token {
  at: usize = 0;
  size: usize = 0;
  hash: u32 = 0; // spares most comparisons
  constructor(private rest: usize, private end: usize) {}

  reset(start: usize, end: usize): void {
    this.rest = start;
    this.end = end;
  }

  // Goes to the next word of the text.
  next(): bool {
    let at = this.rest;
    while (at < this.end && !inWord(load<u8>(at))) at++;
    this.at = at;
    this.hash = 0;
    while (at < this.end && inWord(load<u8>(at))) {
      this.hash = this.hash * 31 + lower(load<u8>(at));
      at++;
    }
    this.size = at - this.at;
    this.rest = at;
    return this.size > 0;
  }

  copy(): Token {
    const token = new Token(0, 0);
    token.at = this.at;
    token.size = this.size;
    token.hash = this.hash;
    return token;
  }

  equals(other: Token): bool {
    if (this.hash != other.hash || this.size != other.size) return false;
    for (let i: usize = 0; i < this.size; i++) {
      if (lower(load<u8>(this.at + i)) != lower(load<u8>(other.at + i))) return false;
    }
    return true;
  }
}

const cursor = new Token(0, 0);

@inline
function inWord(c: u8): bool {
  return c >= 0x80 || c - 0x30 < 10 || (c | 0x20) - 0x61 < 26;
}

@inline
function lower(c: u8): u8 {
  return c - 0x41 < 26 ? c | 0x20 : c;
}
