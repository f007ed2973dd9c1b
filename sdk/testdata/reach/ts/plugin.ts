// Uses everything that the host offers, and reads columns that its manifest does not name.

import { Changes, countTokens, DONE, fail, http, httpBatch, HttpRequest, inBatch, inDocument, inJSON, kv, quote, Request, Value } from "./anchor/index";
import { rate, served } from "./services";
export { anchor_abi_1, anchor_mailbox, anchor_reserve } from "./anchor/serve";

export function anchor_classify(): i32 { return inDocument(classify); }
export function anchor_filter(): i32 { return inJSON(keep); }
export function anchor_batch_filter(at: usize, n: u32): i32 { return inBatch(keep, at, n); }
export function anchor_rerank(): i32 { return inJSON(rate); }
export function anchor_batch_rerank(at: usize, n: u32): i32 { return inBatch(rate, at, n); }

function classify(request: Value): string | null {
  const question = request.get("query").get("query_str").text();
  const url = request.get("settings").get("url").text();
  if (url == "") return '{"label":' + quote(served(question)) + "}";
  const post = new HttpRequest(url + "/echo").header("X-Word", "wörd");
  post.method = "POST";
  const bytes = new Uint8Array(3);
  bytes[1] = 0xff;
  bytes[2] = 0x7a;
  post.body = bytes;
  const one = http(post);
  if (one.body.length != 3 || one.body[0] != 0 || one.body[1] != 0xff) { fail("bytes"); return null; }
  const never = new HttpRequest(url + "/never");
  never.timeout = 50;
  const late = http(never);
  const numbered = new HttpRequest(url + "/echo").post('{"n":1}');
  numbered.timeout = 60000;
  const answers = httpBatch([numbered, never]);
  if (kv.getText("k") !== null || !kv.setText("k", "stored")) { fail("kv"); return null; }
  const stored = kv.getText("k");
  kv.remove("k");
  const label = one.status.toString() + " " + one.header("X-Word") + " " + late.status.toString() + " " + answers[0].status.toString() + " " +
    answers[0].json().get("n").integer().toString() + " " + answers[1].status.toString() + " " + answers[1].error + " " +
    (stored === null ? "" : stored) + " " + countTokens(question).toString();
  return '{"label":' + quote(label) + "}";
}

function keep(request: Request, changes: Changes): i32 {
  changes.keepNone();
  for (let i = 0; i < request.length; i++) {
    if (request.metaText(i, "drop") === null && request.source(i) != "tool" && request.embedding(i) === null && request.text(i) != "") changes.keep(i);
  }
  return DONE;
}
