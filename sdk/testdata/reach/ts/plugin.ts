// Sends requests, stores a value and counts tokens.

import { countTokens, fail, http, httpBatch, HttpRequest, inDocument, kv, quote, Value } from "./anchor/index";
export { anchor_abi_1, anchor_mailbox, anchor_reserve } from "./anchor/serve";

export function anchor_classify(): i32 { return inDocument(classify); }

function classify(request: Value): string | null {
  const url = request.get("settings").get("url").text();
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
    (stored === null ? "" : stored) + " " + countTokens(request.get("query").get("query_str").text()).toString();
  return '{"label":' + quote(label) + "}";
}
