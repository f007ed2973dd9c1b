import { Buffer } from "./buffer";
import { Changes, NewItem, TextsOut } from "./changes";
import { addString as addStringAt } from "./json";
import { addTime } from "./read_json";
import { addText, Metadata, metadataJSON, metadataSection } from "./metadata";

const pieces = new Buffer(); // id u16, type u16, address u32, length u32, address u32, length u32
const keptRows = new Buffer();
const metadataOut = new Buffer();
const itemMetadata = new Buffer();
const itemScores = new Buffer();
const itemPriorities = new Buffer();
const itemTimes = new Buffer();
const itemKeys = new TextsOut();
const itemTexts = new TextsOut();
const itemSources = new TextsOut();

const enum Type { Numbers = 3, Times = 4, Floats = 6, Texts = 7, Metadata = 8 }

function section(id: i32, type: i32, first: Buffer, second: Buffer | null = null): void {
  pieces.add<u16>(<u16>id);
  pieces.add<u16>(<u16>type);
  pieces.add<u32>(<u32>first.start);
  pieces.add<u32>(first.length);
  pieces.add<u32>(second === null ? 0 : <u32>second.start);
  pieces.add<u32>(second === null ? 0 : second.length);
}

/** Writes changes as a change set of the batch lane. */
export function writeBatch(to: Buffer, c: Changes): void {
  pieces.clear();
  if (c.items.length) itemSections(c.items);
  if (c.keeping) {
    keptRows.clear();
    for (let i = 0; i < c.rows; i++) if (load<u8>(c.kept.start + i)) keptRows.add<u32>(i);
    section(512, Type.Numbers, keptRows);
  }
  if (c.textRows.length) {
    section(513, Type.Numbers, c.textRows);
    section(514, Type.Texts, c.texts.offsets, c.texts.bytes);
  }
  if (c.metadataRows.length) {
    section(515, Type.Numbers, c.metadataRows);
    metadataOut.clear();
    metadataSection(metadataOut, changetype<(Metadata | null)[]>(c.metadata));
    section(516, Type.Metadata, metadataOut);
  }
  if (c.priorityRows.length) {
    section(517, Type.Numbers, c.priorityRows);
    section(518, Type.Numbers, c.priorities);
  }
  if (c.scoreRows.length) {
    section(519, Type.Numbers, c.scoreRows);
    section(520, Type.Floats, c.scores);
  }
  if (c.ordered) section(521, Type.Numbers, c.ranks);
  container(to, c.items.length);
}

function itemSections(items: NewItem[]): void {
  const metadata: (Metadata | null)[] = [];
  itemKeys.clear();
  itemTexts.clear();
  itemSources.clear();
  itemScores.clear();
  itemPriorities.clear();
  itemTimes.clear();
  itemMetadata.clear();
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    itemKeys.add(item.key);
    itemTexts.add(item.content);
    itemSources.add(item.source);
    itemScores.add<f64>(item.score);
    itemPriorities.add<i32>(item.priority);
    itemTimes.add<i64>(item.createdAt);
    metadata.push(item.metadata);
  }
  metadataSection(itemMetadata, metadata);
  section(1, Type.Texts, itemKeys.offsets, itemKeys.bytes);
  section(2, Type.Floats, itemScores);
  section(3, Type.Texts, itemTexts.offsets, itemTexts.bytes);
  section(4, Type.Metadata, itemMetadata);
  section(5, Type.Texts, itemSources.offsets, itemSources.bytes);
  section(6, Type.Numbers, itemPriorities);
  section(8, Type.Times, itemTimes);
}

// Puts the sections one after the other, each at a multiple of 8.
function container(to: Buffer, rows: i32): void {
  const sections = pieces.length / 20;
  const directory = 32 + 16 * sections;
  to.clear();
  memory.fill(to.grow(directory), 0, directory);
  for (let i: u32 = 0; i < sections; i++) {
    const piece = pieces.start + 20 * i;
    const from = to.length;
    to.addBytes(load<u32>(piece, 4), load<u32>(piece, 8));
    to.addBytes(load<u32>(piece, 12), load<u32>(piece, 16));
    const entry = to.start + 32 + 16 * i;
    store<u32>(entry, load<u32>(piece));
    store<u32>(entry, from, 8);
    store<u32>(entry, to.length - from, 12);
    while (to.length & 7) to.add<u8>(0);
  }
  store<u32>(to.start, 0x43434e41);
  store<u16>(to.start, 1, 4);
  store<u32>(to.start, 32, 8);
  store<u32>(to.start, to.length, 12);
  store<u32>(to.start, rows, 16);
  store<u32>(to.start, sections, 20);
}

/** Writes changes as a document of the JSON lane. */
export function writeDocument(to: Buffer, c: Changes): void {
  to.clear();
  to.addASCII("{");
  if (c.keeping) keepJSON(to, c);
  if (c.textRows.length || c.metadataRows.length || c.priorityRows.length) editsJSON(to, c);
  if (c.scoreRows.length) scoresJSON(to, c);
  if (c.items.length) itemsJSON(to, c.items);
  if (c.ordered) {
    member(to, "order");
    to.addASCII("[");
    for (let i: u32 = 0; i < c.ranks.length; i += 4) number(to, i, load<u32>(c.ranks.start + i));
    to.addASCII("]");
  }
  to.addASCII("}");
}

function member(to: Buffer, name: string): void {
  to.addASCII(to.length > 1 ? ',"' : '"');
  to.addASCII(name);
  to.addASCII('":');
}

function number(to: Buffer, i: u32, value: u32): void {
  if (i) to.add<u8>(0x2c);
  to.addASCII(value.toString());
}

function keepJSON(to: Buffer, c: Changes): void {
  member(to, "keep");
  to.addASCII("[");
  let n: u32 = 0;
  for (let i = 0; i < c.rows; i++) if (load<u8>(c.kept.start + i)) number(to, n++, i);
  to.addASCII("]");
}

// The edits of a row come in pieces, as the contract allows.
function editsJSON(to: Buffer, c: Changes): void {
  member(to, "edits");
  let n: u32 = 0;
  for (let i: u32 = 0; i < c.textRows.length; i += 4) {
    row(to, n++, load<u32>(c.textRows.start + i), '"content":');
    const from = load<u32>(c.texts.offsets.start + i);
    addStringAt(to, c.texts.bytes.start + from, load<u32>(c.texts.offsets.start + i, 4) - from);
    to.addASCII("}");
  }
  for (let i = 0; i < c.metadata.length; i++) {
    row(to, n++, load<u32>(c.metadataRows.start + (<usize>i << 2)), '"metadata":');
    metadataJSON(to, c.metadata[i]);
    to.addASCII("}");
  }
  for (let i: u32 = 0; i < c.priorityRows.length; i += 4) {
    row(to, n++, load<u32>(c.priorityRows.start + i), '"priority":');
    to.addASCII(load<i32>(c.priorities.start + i).toString());
    to.addASCII("}");
  }
  to.addASCII("]");
}

function row(to: Buffer, n: u32, row: u32, then: string): void {
  to.addASCII(n ? ',{"row":' : '[{"row":');
  to.addASCII(row.toString());
  to.addASCII(",");
  to.addASCII(then);
}

function scoresJSON(to: Buffer, c: Changes): void {
  member(to, "scores");
  for (let i: u32 = 0; i < c.scoreRows.length; i += 4) {
    row(to, i, load<u32>(c.scoreRows.start + i), '"score":');
    to.addASCII(load<f64>(c.scores.start + (<usize>i << 1)).toString());
    to.addASCII("}");
  }
  to.addASCII("]");
}

function itemsJSON(to: Buffer, items: NewItem[]): void {
  member(to, "items");
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    to.addASCII(i ? ',{"content":' : '[{"content":');
    addText(to, item.content);
    if (item.key.length) { to.addASCII(',"key":'); addText(to, item.key); }
    if (item.source.length) { to.addASCII(',"source":'); addText(to, item.source); }
    to.addASCII(',"score":');
    to.addASCII(item.score.toString());
    if (item.priority) { to.addASCII(',"priority":'); to.addASCII(item.priority.toString()); }
    if (item.createdAt != i64.MIN_VALUE) {
      to.addASCII(',"created_at":"');
      addTime(to, item.createdAt);
      to.addASCII('"');
    }
    const metadata = item.metadata;
    if (metadata !== null) { to.addASCII(',"metadata":'); metadataJSON(to, metadata); }
    to.addASCII("}");
  }
  to.addASCII("]");
}
