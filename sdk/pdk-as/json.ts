// A small JSON reader: it finds values where they lie in UTF-8 and decodes what
// is asked for.

import { Buffer } from "./buffer";

/**
 * Where long values of the request document end, so that a search for a member does not read
 * its long neighbours each time. Only the document is in it: nothing changes it during a call.
 * Of two values with the same place the longer one stays.
 */
namespace indexed {
  export let from: usize = 0;
  export let size: usize = 0;
  /** 64 pairs of a beginning and an end. */
  export const ends: usize = memory.data(512);
}

/** Names the request document of the call that begins; a size of 0: none. */
export function index(from: usize, size: usize): void {
  memory.fill(indexed.ends, 0, 512);
  indexed.from = from;
  indexed.size = size;
}

/** Walks over JSON text. After an error bad is true and the cursor stands still at the end. */
@final
export class Cursor {
  bad: bool = false;
  constructor(public at: usize, public end: usize) {}

  /** The next byte that is not white space, not consumed; 0 at the end. */
  peek(): u32 {
    while (this.at < this.end) {
      const c: u32 = load<u8>(this.at);
      if (c > 0x20) return c;
      this.at++;
    }
    return 0;
  }

  /** Consumes the byte c if it is the next one. */
  take(c: u32): bool {
    if (this.peek() != c) return false;
    this.at++;
    return true;
  }

  /** Gives up. */
  fail(): void {
    this.bad = true;
    this.at = this.end;
  }

  /**
   * Goes to the next member of an object whose opening brace has been taken, past
   * its key and colon, and returns whether there is one. keyStart and keyEnd are
   * the key's bytes, escapes included.
   */
  member(first: bool): bool {
    if (this.take(CharCode.CloseBrace)) return false;
    if (!first && !this.take(CharCode.Comma)) { this.fail(); return false; }
    if (this.peek() != CharCode.Quote) { this.fail(); return false; }
    this.keyStart = this.at + 1;
    this.skipString();
    this.keyEnd = this.at - 1;
    if (!this.take(CharCode.Colon)) { this.fail(); return false; }
    return true;
  }
  keyStart: usize = 0;
  keyEnd: usize = 0;

  /** Goes to the next element of an array whose opening bracket has been taken. */
  element(first: bool): bool {
    if (this.take(CharCode.CloseBracket)) return false;
    if (!first && !this.take(CharCode.Comma)) this.fail();
    return !this.bad;
  }

  /** The member's key. */
  key(): string {
    scratch.clear();
    new Cursor(this.keyStart - 1, this.keyEnd + 1).text(scratch);
    return scratch.toString();
  }

  /** Whether the member's key is the text, which has neither quotes nor escapes. */
  keyIs(text: string): bool {
    const n = <usize>text.length;
    if (this.keyEnd - this.keyStart != n) return false;
    for (let i: usize = 0; i < n; i++) {
      if (load<u8>(this.keyStart + i) != load<u16>(changetype<usize>(text) + (i << 1))) return false;
    }
    return true;
  }

  /** Goes past the value that is next, with what earlier calls found. */
  skip(): void {
    this.peek();
    const from = this.at;
    if (from - indexed.from >= indexed.size) return this.scan();
    const known = indexed.ends + (<usize>(<u32>from * 0x9e3779b1 >> 26) << 3);
    if (load<u32>(known) == <u32>from && load<u32>(known, 4) <= <u32>this.end) {
      this.at = load<u32>(known, 4);
      return;
    }
    this.scan();
    const n = this.at - from;
    if (!this.bad && n >= 64 && n > load<u32>(known, 4) - load<u32>(known)) {
      store<u32>(known, from);
      store<u32>(known, this.at, 4);
    }
  }

  private scan(): void {
    let depth = 0;
    do {
      const c = this.peek();
      if (c == CharCode.Quote) this.skipString();
      else if (c == CharCode.OpenBrace || c == CharCode.OpenBracket) { depth++; this.at++; }
      else if (c == CharCode.CloseBrace || c == CharCode.CloseBracket) { depth--; this.at++; }
      else if (c == CharCode.Comma || c == CharCode.Colon) this.at++;
      else if (c == 0) this.fail();
      else this.skipWord();
    } while (depth > 0 && !this.bad);
  }

  private skipWord(): void {
    while (this.at < this.end) {
      const c: u32 = load<u8>(this.at);
      if (c <= 0x20 || c == CharCode.Comma || c == CharCode.CloseBrace || c == CharCode.CloseBracket) return;
      this.at++;
    }
  }

  private skipString(): void {
    this.at++;
    while (this.at < this.end) {
      const c: u32 = load<u8>(this.at);
      this.at += c == CharCode.Backslash ? 2 : 1;
      if (c == CharCode.Quote) return;
    }
    this.fail();
  }

  /** Decodes the string that is next and adds it to a buffer. */
  text(to: Buffer): void {
    if (!this.take(CharCode.Quote)) { this.fail(); return; }
    let run = this.at;
    while (this.at < this.end) {
      const c: u32 = load<u8>(this.at);
      if (c == CharCode.Quote) {
        to.addBytes(run, <u32>(this.at - run));
        this.at++;
        return;
      }
      if (c == CharCode.Backslash) {
        to.addBytes(run, <u32>(this.at - run));
        this.escape(to);
        run = this.at;
      } else this.at++;
    }
    this.fail();
  }

  private escape(to: Buffer): void {
    const c: u32 = this.at + 1 < this.end ? load<u8>(this.at + 1) : 0;
    this.at += 2;
    switch (c) {
      case 0x62: to.add<u8>(8); return; // b
      case 0x66: to.add<u8>(12); return; // f
      case 0x6e: to.add<u8>(10); return; // n
      case 0x72: to.add<u8>(13); return; // r
      case 0x74: to.add<u8>(9); return; // t
      case 0x75: this.unicode(to); return; // u
      default:
        if (c == 0) this.fail();
        else to.add<u8>(<u8>c);
    }
  }

  // \u and four digits, and two of them for a character beyond the 16-bit range; half a pair
  // is U+FFFD.
  private unicode(to: Buffer): void {
    let c = this.hex();
    if (c >= 0xdc00 && c < 0xe000) c = 0xfffd;
    if (c >= 0xd800 && c < 0xdc00) {
      const back = this.at;
      let low: u32 = 0;
      if (this.at + 6 <= this.end && load<u16>(this.at) == 0x755c) { // \u
        this.at += 2;
        low = this.hex();
      }
      if (low >= 0xdc00 && low < 0xe000) c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
      else { c = 0xfffd; this.at = back; }
    }
    addRune(to, c);
  }

  private hex(): u32 {
    if (this.at + 4 > this.end) { this.fail(); return 0; }
    let value: u32 = 0;
    for (let i = 0; i < 4; i++) {
      const c: u32 = load<u8>(this.at++);
      let digit = c - 0x30;
      if (digit > 9) digit = (c | 0x20) - 0x61 + 10;
      value = (value << 4) | (digit & 15);
    }
    return value;
  }

  /** Decodes the number that is next. */
  number(): f64 {
    this.peek();
    const from = this.at;
    this.skipWord();
    return F64.parseFloat(String.UTF8.decodeUnsafe(from, this.at - from));
  }

  /** Decodes the integer that is next; a fraction is cut off. */
  integer(): i64 {
    this.peek();
    const negative = this.take(0x2d);
    let value: i64 = 0;
    while (this.at < this.end) {
      const digit = <u32>load<u8>(this.at) - 0x30;
      if (digit > 9) break;
      value = value * 10 + digit;
      this.at++;
    }
    this.skipWord();
    return negative ? -value : value;
  }

  /** The value that is next, consumed. */
  value(): Value {
    this.peek();
    const from = this.at;
    this.skip();
    return new Value(from, this.at);
  }
}

const enum CharCode {
  Quote = 0x22, Comma = 0x2c, Colon = 0x3a, OpenBracket = 0x5b, Backslash = 0x5c, CloseBracket = 0x5d, OpenBrace = 0x7b, CloseBrace = 0x7d,
}

function addRune(to: Buffer, c: u32): void {
  if (c < 0x80) to.add<u8>(<u8>c);
  else if (c < 0x800) {
    to.add<u8>(<u8>(c >> 6 | 0xc0));
    to.add<u8>(<u8>(c & 63 | 0x80));
  } else if (c < 0x10000) {
    to.add<u8>(<u8>(c >> 12 | 0xe0));
    to.add<u8>(<u8>(c >> 6 & 63 | 0x80));
    to.add<u8>(<u8>(c & 63 | 0x80));
  } else {
    to.add<u8>(<u8>(c >> 18 | 0xf0));
    to.add<u8>(<u8>(c >> 12 & 63 | 0x80));
    to.add<u8>(<u8>(c >> 6 & 63 | 0x80));
    to.add<u8>(<u8>(c & 63 | 0x80));
  }
}

const scratch = new Buffer();

/**
 * A JSON value of the request, read where it lies. A value that is not there reads
 * as empty text, 0, false and no members, so lookups can be chained:
 * `request.settings.get("fields").get("title").number(1)`.
 */
@final
export class Value {
  /** owner is the managed memory that has the text, null if it is not managed. */
  constructor(private from: usize, private to: usize, private owner: ArrayBuffer | null = null) {}

  /** The value of JSON in UTF-8, which stays in memory as long as the value. */
  static of(bytes: Uint8Array): Value {
    const c = new Cursor(bytes.dataStart, bytes.dataStart + bytes.length);
    return c.value().ownedBy(bytes.buffer);
  }

  private ownedBy(owner: ArrayBuffer | null): Value {
    this.owner = owner;
    return this;
  }

  /** Whether there is a value, other than null. */
  get exists(): bool {
    return this.from < this.to && load<u8>(this.from) != 0x6e;
  }

  get isText(): bool {
    return this.is(CharCode.Quote);
  }

  get isBool(): bool {
    return this.is(0x74) || this.is(0x66);
  }

  get isNumber(): bool {
    const c: u32 = this.from < this.to ? load<u8>(this.from) : 0;
    return c == 0x2d || c - 0x30 < 10;
  }

  /** Whether it is a number without fraction and exponent. */
  get isInteger(): bool {
    for (let at = this.from; at < this.to; at++) {
      const c: u32 = load<u8>(at);
      if (c == 0x2e || (c | 0x20) == 0x65) return false; // . e
    }
    return this.isNumber;
  }

  /** The text of a string, or fallback if it is none. */
  text(fallback: string = ""): string {
    if (!this.is(CharCode.Quote)) return fallback;
    scratch.clear();
    new Cursor(this.from, this.to).text(scratch);
    return scratch.toString();
  }

  /** The number, or fallback if it is none. */
  number(fallback: f64 = 0): f64 {
    return this.isNumber ? new Cursor(this.from, this.to).number() : fallback;
  }

  /** The number without its fraction, all 64 bits of it, or fallback if it is none. */
  integer(fallback: i64 = 0): i64 {
    return this.isNumber ? new Cursor(this.from, this.to).integer() : fallback;
  }

  /** The truth value, or fallback if it is none. */
  bool(fallback: bool = false): bool {
    return this.is(0x74) ? true : this.is(0x66) ? false : fallback;
  }

  /** The member of an object. */
  get(key: string): Value {
    if (!this.is(CharCode.OpenBrace)) return new Value(0, 0);
    const c = new Cursor(this.from + 1, this.to);
    for (let first = true; c.member(first); first = false) {
      if (sameKey(c, key)) return c.value().ownedBy(this.owner);
      c.skip();
    }
    return new Value(0, 0);
  }

  /** The elements of an array. */
  elements(): Value[] {
    const list: Value[] = [];
    if (!this.is(CharCode.OpenBracket)) return list;
    const c = new Cursor(this.from + 1, this.to);
    for (let first = true; c.element(first); first = false) list.push(c.value().ownedBy(this.owner));
    return list;
  }

  /** The JSON text itself. */
  toString(): string {
    return String.UTF8.decodeUnsafe(this.from, this.to - this.from);
  }

  private is(c: u32): bool {
    return this.from < this.to && load<u8>(this.from) == c;
  }
}

function sameKey(c: Cursor, key: string): bool {
  return c.keyIs(key) || c.key() == key;
}

/** Adds a string in JSON, quotes included, whose UTF-8 lies at an address. */
export function addString(to: Buffer, from: usize, n: u32): void {
  to.add<u8>(<u8>CharCode.Quote);
  let run = from;
  const end = from + n;
  for (let at = from; at < end; at++) {
    const c: u32 = load<u8>(at);
    if (c >= 0x20 && c != CharCode.Quote && c != CharCode.Backslash) continue;
    to.addBytes(run, <u32>(at - run));
    run = at + 1;
    if (c >= 0x20) {
      to.add<u8>(<u8>CharCode.Backslash);
      to.add<u8>(<u8>c);
    } else {
      to.addASCII(c < 16 ? "\\u000" : "\\u001");
      to.addASCII((c & 15).toString(16));
    }
  }
  to.addBytes(run, <u32>(end - run));
  to.add<u8>(<u8>CharCode.Quote);
}

/** The text as a string in JSON, for documents put together by hand. */
export function quote(text: string): string {
  const utf8 = new Buffer();
  const json = new Buffer();
  utf8.addText(text);
  addString(json, utf8.start, utf8.length);
  const quoted = json.toString();
  utf8.free();
  json.free();
  return quoted;
}
