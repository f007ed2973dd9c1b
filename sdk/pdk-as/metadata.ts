import { Buffer } from "./buffer";
import { addString } from "./json";

const enum Kind { Null, Bool, Integer, Float, Text, JSON }

/** Metadata to write. A key that is set twice has its last value. */
@final
export class Metadata {
  keys: string[] = [];
  kinds: Kind[] = [];
  cells: u64[] = [];
  texts: string[] = [];

  setText(key: string, value: string): this { return this.set(key, Kind.Text, 0, value); }
  setInteger(key: string, value: i64): this { return this.set(key, Kind.Integer, value, ""); }
  setBool(key: string, value: bool): this { return this.set(key, Kind.Bool, value ? 1 : 0, ""); }
  setNull(key: string): this { return this.set(key, Kind.Null, 0, ""); }
  /** Sets a list or an object, written in JSON. */
  setJSON(key: string, value: string): this { return this.set(key, Kind.JSON, 0, value); }

  setNumber(key: string, value: f64): this {
    if (!isFinite(value)) throw new RangeError("metadata " + key + ": " + value.toString() + " is no number");
    return this.set(key, Kind.Float, reinterpret<u64>(value), "");
  }

  private set(key: string, kind: Kind, cell: u64, text: string): this {
    let i = this.keys.indexOf(key);
    if (i < 0) {
      i = this.keys.push(key) - 1;
      this.kinds.push(kind);
      this.cells.push(cell);
      this.texts.push(text);
    } else {
      this.kinds[i] = kind;
      this.cells[i] = cell;
      this.texts[i] = text;
    }
    return this;
  }
}

const utf8 = new Buffer();

/** Adds metadata as a JSON object. */
export function metadataJSON(to: Buffer, metadata: Metadata): void {
  for (let i = 0; i < metadata.keys.length; i++) {
    to.addASCII(i ? "," : "{");
    addText(to, metadata.keys[i]);
    to.addASCII(":");
    const cell = metadata.cells[i];
    switch (metadata.kinds[i]) {
      case Kind.Null: to.addASCII("null"); break;
      case Kind.Bool: to.addASCII(cell ? "true" : "false"); break;
      case Kind.Integer: to.addASCII((<i64>cell).toString()); break;
      case Kind.Float: to.addASCII(reinterpret<f64>(cell).toString()); break;
      case Kind.Text: addText(to, metadata.texts[i]); break;
      default: to.addText(metadata.texts[i]);
    }
  }
  to.addASCII(metadata.keys.length ? "}" : "{}");
}

/** Adds text as a JSON string. */
export function addText(to: Buffer, text: string): void {
  utf8.clear();
  utf8.addText(text);
  addString(to, utf8.start, utf8.length);
}

/** Adds the metadata of some rows as a section of the batch lane; null is none. */
export function metadataSection(to: Buffer, rows: (Metadata | null)[]): void {
  const known = new Map<string, u32>();
  const keys: string[] = [];
  const cells = new Buffer();
  const offsets = new Buffer();
  const entryKeys = new Buffer();
  const kinds = new Buffer();
  const values = new Buffer();
  let entries: u32 = 0;
  for (let i = 0; i < rows.length; i++) {
    offsets.add<u32>(entries);
    const row = rows[i];
    if (row === null) continue;
    const order = ranked(row, known, keys);
    for (let e = 0; e < order.length; e++, entries++) {
      const at = order[e];
      entryKeys.add<u32>(known.get(row.keys[at]));
      kinds.add<u8>(<u8>row.kinds[at]);
      cells.add<u64>(cell(row, at, values));
    }
  }
  offsets.add<u32>(entries);
  utf8.clear();
  to.add<u32>(keys.length);
  to.add<u32>(entries);
  const sizes = to.length;
  to.add<u64>(0);
  append(to, cells);
  append(to, offsets);
  to.add<u32>(0);
  for (let k = 0; k < keys.length; k++) {
    utf8.addText(keys[k]);
    to.add<u32>(utf8.length);
  }
  append(to, entryKeys);
  append(to, kinds);
  to.addBytes(utf8.start, utf8.length);
  store<u32>(to.start + sizes, utf8.length);
  store<u32>(to.start + sizes, values.length, 4);
  append(to, values);
}

// The entries of a row by the index of their keys, which it first gives to the
// keys that are new, in the order of their bytes.
function ranked(row: Metadata, known: Map<string, u32>, keys: string[]): i32[] {
  const fresh: string[] = [];
  for (let i = 0; i < row.keys.length; i++) if (!known.has(row.keys[i])) fresh.push(row.keys[i]);
  fresh.sort((a: string, b: string): i32 => compareBytes(a, b));
  for (let i = 0; i < fresh.length; i++) known.set(fresh[i], keys.push(fresh[i]) - 1);
  const ranks: u64[] = [];
  for (let i = 0; i < row.keys.length; i++) ranks.push(<u64>known.get(row.keys[i]) << 32 | i);
  ranks.sort((a: u64, b: u64): i32 => a < b ? -1 : a > b ? 1 : 0);
  const order: i32[] = [];
  for (let i = 0; i < ranks.length; i++) order.push(<i32>ranks[i]);
  return order;
}

function compareBytes(a: string, b: string): i32 {
  const x = String.UTF8.encode(a);
  const y = String.UTF8.encode(b);
  const order = memory.compare(changetype<usize>(x), changetype<usize>(y), min(x.byteLength, y.byteLength));
  return order ? order : x.byteLength - y.byteLength;
}

function cell(row: Metadata, at: i32, values: Buffer): u64 {
  if (row.kinds[at] < Kind.Text) return row.cells[at];
  const from = values.length;
  values.addText(row.texts[at]);
  return <u64>(values.length - from) << 32 | from;
}

// Adds a buffer and frees it.
function append(to: Buffer, from: Buffer): void {
  to.addBytes(from.start, from.length);
  from.free();
}
