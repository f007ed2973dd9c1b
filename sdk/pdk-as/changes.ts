import { Buffer } from "./buffer";
import { Metadata } from "./metadata";

/** A new row. All but the content may stay unset. */
@final
export class NewItem {
  /** Names the item from call to call; without it the host names it by its content. */
  key: string = "";
  /** "" is the default of the step. */
  source: string = "";
  score: f64 = 0;
  /** 0 is the default of the source. */
  priority: i32 = 0;
  metadata: Metadata | null = null;
  /** When it came into being, in nanoseconds since 1970; i64.MIN_VALUE is unknown. */
  createdAt: i64 = i64.MIN_VALUE;
  constructor(public content: string) {}
}

/** A column of texts to write: offsets from 0 and bytes. */
@final
export class TextsOut {
  offsets: Buffer = new Buffer();
  bytes: Buffer = new Buffer();

  clear(): void {
    this.offsets.clear();
    this.bytes.clear();
    this.offsets.add<u32>(0);
  }

  add(text: string): void {
    this.bytes.addText(text);
    this.offsets.add<u32>(this.bytes.length);
  }
}

/**
 * What a handler wants done. Rows count from 0, and new items on from the last
 * row. The host applies keep and drop, edits, scores, new items and the order, in
 * this order, all or nothing; a change that the step may not make fails the step.
 */
@final
export class Changes {
  rows: i32 = 0;
  // One byte per row says whether it stays, once keep or drop has been called.
  keeping: bool = false;
  kept: Buffer = new Buffer();
  textRows: Buffer = new Buffer();
  texts: TextsOut = new TextsOut();
  metadataRows: Buffer = new Buffer();
  metadata: Metadata[] = [];
  priorityRows: Buffer = new Buffer();
  priorities: Buffer = new Buffer();
  scoreRows: Buffer = new Buffer();
  scores: Buffer = new Buffer();
  items: NewItem[] = [];
  ordered: bool = false;
  ranks: Buffer = new Buffer();

  /** Empties the changes, for a request with so many rows. */
  reset(rows: i32): void {
    this.rows = rows;
    this.keeping = false;
    this.ordered = false;
    this.kept.clear();
    this.textRows.clear();
    this.texts.clear();
    this.metadataRows.clear();
    this.metadata = [];
    this.priorityRows.clear();
    this.priorities.clear();
    this.scoreRows.clear();
    this.scores.clear();
    this.items = [];
    this.ranks.clear();
  }

  /** This row stays; rows that neither keep nor drop names go. */
  keep(row: i32): void {
    if (!this.keeping) this.keepNone();
    store<u8>(this.kept.start + this.row(row), 1);
  }

  /** No row stays, apart from those that keep names. */
  keepNone(): void {
    this.all(0);
  }

  /** This row goes; all others stay unless they are dropped too. */
  drop(row: i32): void {
    if (!this.keeping) this.all(1);
    store<u8>(this.kept.start + this.row(row), 0);
  }

  /** Replaces the content of a row. Once per row. */
  setText(row: i32, text: string): void {
    this.textRows.add<u32>(this.row(row));
    this.texts.add(text);
  }

  /** Replaces the metadata of a row, all of it. Once per row. */
  setMetadata(row: i32, metadata: Metadata): void {
    this.metadataRows.add<u32>(this.row(row));
    this.metadata.push(metadata);
  }

  /** Replaces the priority of a row, 1 to 10. Once per row. */
  setPriority(row: i32, priority: i32): void {
    this.priorityRows.add<u32>(this.row(row));
    this.priorities.add<i32>(priority);
  }

  /** Gives a row a new score, 0 to 1. Once per row. */
  setScore(row: i32, score: f64): void {
    if (!(score >= 0 && score <= 1)) throw new RangeError("score " + score.toString() + " is not within 0..1");
    this.scoreRows.add<u32>(this.row(row));
    this.scores.add<f64>(score);
  }

  /** Adds an item and returns its row. */
  add(item: NewItem): i32 {
    this.items.push(item);
    return this.rows + this.items.length - 1;
  }

  /** Puts a row next in the new order. All rows that stay must be named, each once. */
  order(row: i32): void {
    this.ordered = true;
    this.ranks.add<u32>(row);
  }

  private all(value: u8): void {
    this.keeping = true;
    this.kept.clear();
    memory.fill(this.kept.grow(this.rows), value, this.rows);
  }

  private row(row: i32): u32 {
    if (<u32>row >= <u32>this.rows) throw new RangeError("row " + row.toString() + " does not exist");
    return row;
  }
}
