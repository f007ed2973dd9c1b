// The two lanes. An operation on items is one function, which serves both:
//
//     export function anchor_filter(): i32 { return inJSON(filter); }
//     export function anchor_batch_filter(at: usize, n: u32): i32 { return inBatch(filter, at, n); }

import { Buffer } from "./buffer";
import { Changes } from "./changes";
import { DONE, fail, input, output } from "./host";
import { index, Value } from "./json";
import { readBatch } from "./read_batch";
import { readDocument } from "./read_json";
import { Request } from "./request";
import { writeBatch, writeDocument } from "./write";

const lent = new Buffer(); // what the host writes batches into
const document = new Buffer();
const answer = new Buffer();
const request = new Request();
const changes = new Changes();

// The mailbox: its length, the room lent, its length, the answer, its length, 0, the
// length of a document in the room.
const box = memory.data(28, 8);
const smallest: u32 = 64 << 10;
const largest: u32 = 256 << 20;

/** Serves a call of the batch lane. */
export function inBatch(handler: (request: Request, changes: Changes) => i32, at: usize, n: u32): i32 {
  if (at != lent.start || n > lent.room) return fail("batch: is not in the reserved room");
  index(0, 0);
  const problem = readBatch(request, at, n);
  if (problem !== null) return fail(problem);
  changes.reset(request.length);
  const status = handler(request, changes);
  if (status != DONE) return status;
  writeBatch(answer, changes);
  store<u32>(box, <u32>answer.start, 12);
  store<u32>(box, answer.length, 16);
  return DONE;
}

// Whether the document of the call was in the room lent.
let boxed: bool = false;

// Fetches the document of a call: from the room lent, if the host wrote it there, or
// the input of Extism.
function takeDocument(): void {
  const n = load<u32>(box, 24);
  store<u32>(box, 0, 24);
  store<u32>(box, 0, 16);
  boxed = n > 0 && n <= lent.room;
  if (boxed) {
    document.clear();
    document.addBytes(lent.start, n);
  } else input(document);
  index(document.start, document.length);
}

// Sets the answer of a call where the document came from.
function giveAnswer(): void {
  if (!boxed) return output(answer);
  store<u32>(box, <u32>answer.start, 12);
  store<u32>(box, answer.length, 16);
}

/** Serves a call of the JSON lane. */
export function inJSON(handler: (request: Request, changes: Changes) => i32): i32 {
  takeDocument();
  const problem = readDocument(request, document);
  if (problem !== null) return fail(problem);
  changes.reset(request.length);
  const status = handler(request, changes);
  if (status != DONE) return status;
  writeDocument(answer, changes);
  giveAnswer();
  return DONE;
}

/**
 * Serves an operation that has the JSON lane only, such as classify, init or format:
 * the handler reads the request document and returns the answer document, or null
 * for no change. After fail(…) its result is not read.
 */
export function inDocument(handler: (request: Value) => string | null): i32 {
  takeDocument();
  const reply = handler(new Value(document.start, document.start + document.length));
  if (reply === null) return 1;
  answer.clear();
  answer.addText(reply);
  giveAnswer();
  return DONE;
}

/** Says that the module speaks version 1 of the contract. It is never called. */
export function anchor_abi_1(): void {}

/** Where the host finds the mailbox. */
export function anchor_mailbox(): usize {
  store<u32>(box, 28);
  return box;
}

/** Lends the host room for a request of n bytes. */
export function anchor_reserve(n: u32): usize {
  if (n > largest) return 0;
  lent.reserve(max(n, smallest));
  store<u32>(box, <u32>lent.start, 4);
  store<u32>(box, lent.room, 8);
  return lent.start;
}
