import { Buffer } from "./buffer";
import { Cursor } from "./json";
import { clear } from "./read_batch";
import { COLUMNS, floatsOf, Request, Texts } from "./request";

// The columns of the JSON lane, laid out as in a batch, so that handlers need not
// know which lane serves.
class Column {
  offsets: Buffer = new Buffer();
  bytes: Buffer = new Buffer();

  clear(): void {
    this.offsets.clear();
    this.bytes.clear();
    this.offsets.add<u32>(0);
  }

  end(): void {
    this.offsets.add<u32>(this.bytes.length);
  }

  show(to: Texts): void {
    to.offsets = this.offsets.start;
    to.bytes = this.bytes.start;
  }
}

const ids = new Column();
const contents = new Column();
const sources = new Column();
const query = new Buffer();
const scores = new Buffer();
const priorities = new Buffer();
const tokenCounts = new Buffer();
const times = new Buffer();
const objects = new Buffer();
const vectors = new Buffer();
const stamp = new Buffer();
// The columns that the request has, bit n for the column with id n + 1.
let sent: u32 = 0;

/** Makes request the document in a buffer, which must stay as it is meanwhile. Returns an error, or null. */
export function readDocument(request: Request, document: Buffer): string | null {
  clear(request);
  const c = new Cursor(document.start, document.start + document.length);
  if (!c.take(0x7b)) return "request: is no JSON object";
  let items: usize = 0;
  sent = u32.MAX_VALUE;
  for (let first = true; c.member(first); first = false) {
    if (c.keyIs("query")) readQuery(request, c);
    else if (c.keyIs("items")) {
      c.peek();
      items = c.at;
      c.skip();
    } else if (c.keyIs("columns")) readColumns(c);
    else if (c.keyIs("top_k")) request.topK = <i32>c.integer();
    else if (c.keyIs("tokens_left")) request.tokensLeft = <i32>c.integer();
    else if (c.keyIs("settings")) request.settings = c.value();
    else c.skip();
  }
  if (!c.bad && items) {
    c.at = items;
    readItems(request, c);
  }
  return c.bad ? "request: is no JSON" : null;
}

function readQuery(request: Request, c: Cursor): void {
  query.clear();
  if (!c.take(0x7b)) { c.skip(); return; }
  for (let first = true; c.member(first); first = false) {
    if (c.keyIs("query_str")) c.text(query);
    else if (c.keyIs("metadata")) request.queryMetadata = c.value();
    else if (c.keyIs("embedding")) request.queryEmbedding = floatsOf(c.value());
    else if (c.keyIs("chat_history")) request.chatHistory = c.value();
    else c.skip();
  }
  request.queryStart = query.start;
  request.querySize = query.length;
}

// Notes which columns were sent.
function readColumns(c: Cursor): void {
  if (!c.take(0x5b)) { c.skip(); return; }
  sent = 0;
  for (let first = true; c.element(first); first = false) {
    stamp.clear();
    c.text(stamp);
    const id = COLUMNS.indexOf(String.UTF8.decodeUnsafe(stamp.start, stamp.length));
    if (id >= 0) sent |= 1 << id;
  }
}

function readItems(request: Request, c: Cursor): void {
  if (!c.take(0x5b)) { c.skip(); return; }
  ids.clear();
  contents.clear();
  sources.clear();
  scores.clear();
  priorities.clear();
  tokenCounts.clear();
  times.clear();
  objects.clear();
  vectors.clear();
  for (let first = true; c.element(first); first = false) {
    readItem(c);
    request.length++;
  }
  if (sent & 1) ids.show(request.ids);
  if (sent & 2) request.scores = scores.start;
  if (sent & 4) contents.show(request.texts);
  request.meta.sent = (sent & 8) != 0;
  request.meta.objects = objects.start;
  if (sent & 16) sources.show(request.sources);
  if (sent & 32) request.priorities = priorities.start;
  if (sent & 64) request.tokenCounts = tokenCounts.start;
  if (sent & 128) request.times = times.start;
  request.vectors.sent = (sent & 256) != 0;
  request.vectors.lists = vectors.start;
}

function readItem(c: Cursor): void {
  if (!c.take(0x7b)) { c.fail(); return; }
  let score: f64 = 0;
  let priority: i32 = 0;
  let tokenCount: i32 = 0;
  let time = i64.MIN_VALUE;
  let object: u32 = 0;
  let objectEnd: u32 = 0;
  let vector: u32 = 0;
  let vectorEnd: u32 = 0;
  for (let first = true; c.member(first); first = false) {
    if (c.keyIs("content")) c.text(contents.bytes);
    else if (c.keyIs("id")) c.text(ids.bytes);
    else if (c.keyIs("score")) score = c.number();
    else if (c.keyIs("source")) c.text(sources.bytes);
    else if (c.keyIs("priority")) priority = <i32>c.integer();
    else if (c.keyIs("token_count")) tokenCount = <i32>c.integer();
    else if (c.keyIs("created_at")) {
      stamp.clear();
      c.text(stamp);
      time = parseTime(stamp.start, stamp.length);
    } else if (c.keyIs("metadata")) {
      c.peek();
      object = <u32>c.at;
      c.skip();
      objectEnd = <u32>c.at;
    } else if (c.keyIs("embedding")) {
      c.peek();
      vector = <u32>c.at;
      c.skip();
      vectorEnd = <u32>c.at;
    } else c.skip();
  }
  ids.end();
  contents.end();
  sources.end();
  scores.add<f64>(score);
  priorities.add<i32>(priority);
  tokenCounts.add<i32>(tokenCount);
  times.add<i64>(time);
  objects.add<u32>(object);
  objects.add<u32>(objectEnd);
  vectors.add<u32>(vector);
  vectors.add<u32>(vectorEnd);
}

/** Nanoseconds since 1970 of a time such as 2025-03-01T12:30:00.5+01:00, or i64.MIN_VALUE. */
export function parseTime(at: usize, n: u32): i64 {
  if (n < 20) return i64.MIN_VALUE;
  const seconds = ((days(digits(at, 4), digits(at + 5, 2), digits(at + 8, 2)) * 24 + digits(at + 11, 2)) * 60 + digits(at + 14, 2)) * 60 + digits(at + 17, 2);
  const end = at + n;
  let p = at + 19;
  let nanos: i64 = 0;
  if (load<u8>(p) == 0x2e) {
    let unit: i64 = 100_000_000;
    for (p++; p < end && <u32>load<u8>(p) - 0x30 < 10; p++) {
      nanos += unit * (<i64>load<u8>(p) - 0x30);
      unit /= 10;
    }
  }
  let offset: i64 = 0;
  if (p + 6 <= end) offset = (digits(p + 1, 2) * 60 + digits(p + 4, 2)) * 60;
  if (p < end && load<u8>(p) == 0x2d) offset = -offset;
  return (seconds - offset) * 1_000_000_000 + nanos;
}

/** Adds the time that is so many nanoseconds after 1970, in UTC, such as 2025-03-01T12:30:00.5Z. */
export function addTime(to: Buffer, nanos: i64): void {
  let seconds = nanos / 1_000_000_000;
  let rest = nanos % 1_000_000_000;
  if (rest < 0) { rest += 1_000_000_000; seconds--; }
  let day = seconds / 86400;
  let second = seconds % 86400;
  if (second < 0) { second += 86400; day--; }
  addDate(to, day);
  to.addASCII("T");
  addDigits(to, second / 3600, 2);
  to.addASCII(":");
  addDigits(to, second / 60 % 60, 2);
  to.addASCII(":");
  addDigits(to, second % 60, 2);
  if (rest) {
    to.addASCII(".");
    addDigits(to, rest, 9);
  }
  to.addASCII("Z");
}

// The inverse of days.
function addDate(to: Buffer, since: i64): void {
  const day = since + 719468; // since 0000-03-01; years here begin in March
  const era = day / 146097;
  const ofEra = day - era * 146097;
  const yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146096) / 365;
  const ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const month = (5 * ofYear + 2) / 153;
  addDigits(to, era * 400 + yearOfEra + (month < 10 ? 0 : 1), 4);
  to.addASCII("-");
  addDigits(to, month < 10 ? month + 3 : month - 9, 2);
  to.addASCII("-");
  addDigits(to, ofYear - (153 * month + 2) / 5 + 1, 2);
}

function addDigits(to: Buffer, value: i64, n: i32): void {
  let unit: i64 = 1;
  for (let i = 1; i < n; i++) unit *= 10;
  for (; unit; unit /= 10) to.add<u8>(<u8>(0x30 + value / unit % 10));
}

function digits(at: usize, n: i32): i64 {
  let value: i64 = 0;
  for (let i = 0; i < n; i++) value = value * 10 + (<i64>load<u8>(at + i) - 0x30);
  return value;
}

// Days since 1970-01-01, of years counted from March.
function days(year: i64, month: i64, day: i64): i64 {
  const y = month > 2 ? year : year - 1;
  const era = y / 400;
  const ofEra = y - era * 400;
  const ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719468;
}
