import { Cursor, Value } from "./json";
import { log } from "./host";
import { Metadata } from "./metadata";

/** The names of the columns, in the order of their ids from 1 on. */
export const COLUMNS: StaticArray<string> = ["id", "score", "text", "metadata", "source", "priority", "token_count", "created_at", "embedding"];

/** The column of texts: offsets and bytes, in the batch or decoded from JSON. */
@final
export class Texts {
  offsets: usize = 0;
  bytes: usize = 0;

  @inline start(i: i32): usize {
    return this.bytes + load<u32>(this.offsets + (<usize>i << 2));
  }

  @inline size(i: i32): u32 {
    return load<u32>(this.offsets + (<usize>i << 2), 4) - load<u32>(this.offsets + (<usize>i << 2));
  }

  get(i: i32): string {
    return this.offsets ? String.UTF8.decodeUnsafe(this.start(i), this.size(i)) : "";
  }
}

/** The column of vectors: numbers in the batch, or lists in JSON, which are read on use. */
@final
export class VectorColumn {
  /** Whether the column was sent. */
  sent: bool = false;
  /** The JSON lane: offset and end of each row's list, 0 and 0 for none. */
  lists: usize = 0;
  /** The batch lane: the first number, and how many each row has. */
  numbers: usize = 0;
  dimension: u32 = 0;

  clear(): void {
    this.sent = false;
    this.lists = 0;
    this.dimension = 0;
  }

  get(i: i32): Float32Array | null {
    if (this.lists) {
      const at = this.lists + (<usize>i << 3);
      const list = floatsOf(new Value(load<u32>(at), load<u32>(at, 4)));
      return list.length ? list : null;
    }
    const size = <usize>this.dimension << 2;
    const from = this.numbers + <usize>i * size;
    for (let at = from; at < from + size; at += 4) if (load<f32>(at) != 0) return copyFloats(from, this.dimension);
    return null;
  }
}

/** The numbers of a list. */
export function floatsOf(list: Value): Float32Array {
  const values = list.elements();
  const floats = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) floats[i] = <f32>values[i].number();
  return floats;
}

/** A copy of n numbers. */
export function copyFloats(from: usize, n: u32): Float32Array {
  const floats = new Float32Array(n);
  memory.copy(floats.dataStart, from, <usize>n << 2);
  return floats;
}

/**
 * What the host asks: the query, the rows, and how much is wanted. Rows count
 * from 0. Columns that plugin.yaml does not list under reads are empty.
 */
@final
export class Request {
  /** How many rows there are. */
  length: i32 = 0;
  /** The most items wanted, for retrieve and rerank; 0 when there is no bound. */
  topK: i32 = 0;
  /** The room in the window, in tokens. */
  tokensLeft: i32 = 0;
  /** The settings of the step. */
  settings: Value = new Value(0, 0);
  /** The metadata of the query. */
  queryMetadata: Value = new Value(0, 0);
  /** The turns of the conversation, a list. */
  chatHistory: Value = new Value(0, 0);
  /** Where the query's text lies, in UTF-8. */
  queryStart: usize = 0;
  querySize: u32 = 0;
  /** The vector of the query, empty if there is none. */
  queryEmbedding: Float32Array = new Float32Array(0);

  ids: Texts = new Texts();
  texts: Texts = new Texts();
  sources: Texts = new Texts();
  scores: usize = 0;
  priorities: usize = 0;
  tokenCounts: usize = 0;
  times: usize = 0;
  meta: MetadataColumn = new MetadataColumn();
  vectors: VectorColumn = new VectorColumn();
  /** The columns that were not sent and of which the host knows that they are read, bit n for id n. */
  told: u32 = 0;

  /** The text of the query. */
  get query(): string {
    return String.UTF8.decodeUnsafe(this.queryStart, this.querySize);
  }

  /** The id of a row. Ids need not be unique. */
  id(i: i32): string { return this.textOf(this.ids, 1, i); }
  /** The content of a row. */
  text(i: i32): string { return this.textOf(this.texts, 3, i); }
  /** Where the content of a row lies, in UTF-8: to be read without a copy. */
  @inline textStart(i: i32): usize { return this.texts.offsets ? this.texts.start(this.row(i)) : this.unsent(3); }
  /** How many bytes the content of a row has. */
  @inline textSize(i: i32): u32 { return this.texts.offsets ? this.texts.size(this.row(i)) : this.unsent(3); }
  /** Where a row comes from: memory, conversation, tool, retrieval, user. */
  source(i: i32): string { return this.textOf(this.sources, 5, i); }
  /** The score of a row, 0 to 1. */
  score(i: i32): f64 { return this.scores ? load<f64>(this.scores + (<usize>this.row(i) << 3)) : this.unsent(2); }
  /** The priority of a row, 1 to 10; higher is kept first. */
  priority(i: i32): i32 { return this.priorities ? load<i32>(this.priorities + (<usize>this.row(i) << 2)) : this.unsent(6); }
  /** The number of tokens of a row's content. */
  tokenCount(i: i32): i32 { return this.tokenCounts ? load<i32>(this.tokenCounts + (<usize>this.row(i) << 2)) : this.unsent(7); }
  /** When a row came into being, in nanoseconds since 1970; i64.MIN_VALUE when unknown. */
  createdAt(i: i32): i64 { return this.times ? load<i64>(this.times + (<usize>this.row(i) << 3)) : i64.MIN_VALUE + this.unsent(8); }
  /** The vector of a row, or null if it has none. */
  embedding(i: i32): Float32Array | null {
    this.row(i);
    if (!this.vectors.sent) this.unsent(9);
    return this.vectors.get(i);
  }
  /** The metadata value of a key in a row if it is a string, else null. */
  metaText(i: i32, key: string): string | null { return this.metaOf(i).text(i, key); }
  /** The metadata value of a key in a row if it is a number, else fallback. */
  metaNumber(i: i32, key: string, fallback: f64 = 0): f64 { return this.metaOf(i).number(i, key, fallback); }
  /** The metadata value of a key in a row if it is an integer, else fallback. */
  metaInteger(i: i32, key: string, fallback: i64 = 0): i64 { return this.metaOf(i).integer(i, key, fallback); }
  /** The metadata value of a key in a row if it is true or false, else fallback. */
  metaBool(i: i32, key: string, fallback: bool = false): bool { return this.metaOf(i).bool(i, key, fallback); }

  /** A copy of the metadata of a row, to be changed and given to setMetadata. */
  metadata(i: i32): Metadata { return this.metaOf(i).copy(i); }

  private textOf(column: Texts, id: u32, i: i32): string {
    this.row(i);
    if (!column.offsets) this.unsent(id);
    return column.get(i);
  }

  private metaOf(i: i32): MetadataColumn {
    this.row(i);
    if (!this.meta.sent) this.unsent(4);
    return this.meta;
  }

  // Says once that the author reads a column that was not sent, and returns 0. The host knows the
  // manifest, and warns if it does not name the column.
  private unsent(id: u32): i32 {
    if (!(this.told >> id & 1)) {
      this.told |= 1 << id;
      log.warn("anchor: column " + COLUMNS[id - 1] + " was not sent");
    }
    return 0;
  }

  @inline private row(i: i32): i32 {
    if (<u32>i >= <u32>this.length) throw new RangeError("no such row");
    return i;
  }
}

/** The metadata column: a table in the batch lane, texts of objects in the JSON lane. */
@final
export class MetadataColumn {
  /** Whether the column was sent. */
  sent: bool = false;
  /** The JSON lane: offset and end of each row's object, 0 and 0 for none. */
  objects: usize = 0;
  private keys: u32 = 0;
  private cells: usize = 0;
  private rows: usize = 0;
  private keyOffsets: usize = 0;
  private entryKeys: usize = 0;
  private kinds: usize = 0;
  private keyBytes: usize = 0;
  private values: usize = 0;
  private wanted: string | null = null;
  private wantedKey: u32 = u32.MAX_VALUE;

  clear(): void {
    this.sent = false;
    this.objects = 0;
    this.keys = 0;
    this.wanted = null;
    this.wantedKey = u32.MAX_VALUE;
  }

  /** Reads the section of a batch with so many rows. */
  open(at: usize, n: u32): void {
    const entries = load<u32>(at, 4);
    this.sent = true;
    this.keys = load<u32>(at);
    this.cells = at + 16;
    this.rows = this.cells + (<usize>entries << 3);
    this.keyOffsets = this.rows + ((<usize>n + 1) << 2);
    this.entryKeys = this.keyOffsets + ((<usize>this.keys + 1) << 2);
    this.kinds = this.entryKeys + (<usize>entries << 2);
    this.keyBytes = this.kinds + entries;
    this.values = this.keyBytes + load<u32>(at, 8);
  }

  text(i: i32, key: string): string | null {
    if (this.objects) {
      const value = this.value(i, key);
      return value.isText ? value.text() : null;
    }
    const at = this.find(i, key);
    if (at < 0 || load<u8>(this.kinds + at) != 4) return null;
    const cell = this.cells + (<usize>at << 3);
    return String.UTF8.decodeUnsafe(this.values + load<u32>(cell), load<u32>(cell, 4));
  }

  number(i: i32, key: string, fallback: f64): f64 {
    if (this.objects) return this.value(i, key).number(fallback);
    const at = this.find(i, key);
    if (at < 0) return fallback;
    const cell = this.cells + (<usize>at << 3);
    const kind = load<u8>(this.kinds + at);
    return kind == 2 ? <f64>load<i64>(cell) : kind == 3 ? load<f64>(cell) : fallback;
  }

  integer(i: i32, key: string, fallback: i64): i64 {
    if (this.objects) {
      const value = this.value(i, key);
      return value.isInteger ? value.integer() : fallback;
    }
    const at = this.find(i, key);
    return at >= 0 && load<u8>(this.kinds + at) == 2 ? load<i64>(this.cells + (<usize>at << 3)) : fallback;
  }

  bool(i: i32, key: string, fallback: bool): bool {
    if (this.objects) return this.value(i, key).bool(fallback);
    const at = this.find(i, key);
    return at >= 0 && load<u8>(this.kinds + at) == 1 ? load<u8>(this.cells + (<usize>at << 3)) != 0 : fallback;
  }

  copy(i: i32): Metadata {
    const metadata = new Metadata();
    if (this.objects) this.copyObject(i, metadata);
    else if (this.keys) this.copyEntries(i, metadata);
    return metadata;
  }

  private copyObject(i: i32, to: Metadata): void {
    const at = this.objects + (<usize>i << 3);
    const c = new Cursor(load<u32>(at), load<u32>(at, 4));
    if (!c.take(0x7b)) return;
    for (let first = true; c.member(first); first = false) {
      const key = c.key();
      const value = c.value();
      if (value.isText) to.setText(key, value.text());
      else if (value.isInteger) to.setInteger(key, value.integer());
      else if (value.isNumber) to.setNumber(key, value.number());
      else if (value.isBool) to.setBool(key, value.bool());
      else if (!value.exists) to.setNull(key);
      else to.setJSON(key, value.toString());
    }
  }

  private copyEntries(i: i32, to: Metadata): void {
    const end = load<u32>(this.rows + (<usize>i << 2), 4);
    for (let e = load<u32>(this.rows + (<usize>i << 2)); e < end; e++) {
      const offset = this.keyOffsets + (<usize>load<u32>(this.entryKeys + (<usize>e << 2)) << 2);
      const key = String.UTF8.decodeUnsafe(this.keyBytes + load<u32>(offset), load<u32>(offset, 4) - load<u32>(offset));
      const cell = this.cells + (<usize>e << 3);
      switch (load<u8>(this.kinds + e)) {
        case 0: to.setNull(key); break;
        case 1: to.setBool(key, load<u64>(cell) != 0); break;
        case 2: to.setInteger(key, load<i64>(cell)); break;
        case 3: to.setNumber(key, load<f64>(cell)); break;
        case 4: to.setText(key, String.UTF8.decodeUnsafe(this.values + load<u32>(cell), load<u32>(cell, 4))); break;
        default: to.setJSON(key, String.UTF8.decodeUnsafe(this.values + load<u32>(cell), load<u32>(cell, 4)));
      }
    }
  }

  private value(i: i32, key: string): Value {
    const at = this.objects + (<usize>i << 3);
    return new Value(load<u32>(at), load<u32>(at, 4)).get(key);
  }

  // The entry of a key in a row, or -1.
  private find(i: i32, key: string): i32 {
    if (!this.keys) return -1;
    if (this.wanted != key) this.look(key);
    if (this.wantedKey == u32.MAX_VALUE) return -1;
    const end = load<u32>(this.rows + (<usize>i << 2), 4);
    for (let e = load<u32>(this.rows + (<usize>i << 2)); e < end; e++) {
      if (load<u32>(this.entryKeys + (<usize>e << 2)) == this.wantedKey) return <i32>e;
    }
    return -1;
  }

  // Finds the key in the dictionary and remembers it: handlers ask row by row.
  private look(key: string): void {
    this.wanted = key;
    this.wantedKey = u32.MAX_VALUE;
    const utf8 = String.UTF8.encode(key);
    for (let k: u32 = 0; k < this.keys; k++) {
      const at = this.keyOffsets + (<usize>k << 2);
      const n = load<u32>(at, 4) - load<u32>(at);
      if (n == <u32>utf8.byteLength && memory.compare(this.keyBytes + load<u32>(at), changetype<usize>(utf8), n) == 0) {
        this.wantedKey = k;
        return;
      }
    }
  }
}
