import {
  Changes, config, DONE, fail, inBatch, inDocument, inJSON, log, Metadata, NewItem, NO_CHANGE, quote, Request, Value,
} from "./anchor/index";
export { anchor_abi_1, anchor_mailbox, anchor_reserve } from "./anchor/serve";

export function anchor_init(): i32 { return inDocument(init); }
export function anchor_process(): i32 { return inJSON(process); }
export function anchor_batch_process(at: usize, n: u32): i32 { return inBatch(process, at, n); }
export function anchor_classify(): i32 { return inDocument(classify); }

function init(request: Value): string | null {
  const message = request.get("settings").get("fail").text();
  if (message.length) fail(message);
  return null;
}

function classify(request: Value): string | null {
  return '{"label":' + quote(request.get("query").get("query_str").text()) + "}";
}

function process(request: Request, changes: Changes): i32 {
  const what = request.settings.get("do").text();
  if (what == "nothing") return NO_CHANGE;
  if (what == "fail") return fail("wrong: \u{1F600} \"quoted\"");
  if (what == "throw") throw new Error("thrown \u{1F600}");
  if (what == "row") request.text(request.length);
  if (what == "log") {
    log.debug("a debug line");
    log.info("an info line");
    log.warn("a warning");
    log.error("an error ü");
    const region = config("region");
    const zone = config("zone");
    return fail((region === null ? "none" : region) + " " + (zone === null ? "none" : zone));
  }
  if (what == "scores") {
    for (let i = 0; i < request.length; i++) changes.setScore(i, request.score(i));
    return DONE;
  }
  if (what == "drop") {
    changes.drop(1);
    return DONE;
  }
  if (what == "copy") {
    for (let i = 0; i < request.length; i++) {
      if (request.metaInteger(i, "big") != i64.MAX_VALUE) return fail("big is " + request.metaInteger(i, "big").toString());
      changes.setMetadata(i, request.metadata(i).setText("more", "than before"));
      const item = new NewItem("copy " + i.toString());
      item.createdAt = request.createdAt(i);
      changes.add(item);
    }
    return DONE;
  }
  return everything(request, changes);
}

// Shows what it sees of each row as the row's text, and makes every kind of change.
function everything(request: Request, changes: Changes): i32 {
  const list = request.settings.get("list").elements();
  for (let i = 0; i < request.length; i++) {
    if (i == 1) continue;
    const kind = request.metaText(i, "kind");
    const text = [
      request.id(i), request.text(i), request.source(i), request.priority(i).toString(), request.tokenCount(i).toString(),
      request.createdAt(i).toString(), kind === null ? "null" : kind, request.metaNumber(i, "page", -1).toString(),
      request.metaNumber(i, "weight", -1).toString(), request.metaBool(i, "fresh") ? "fresh" : "stale", request.query,
      request.queryMetadata.get("user").text("nobody"), request.chatHistory.elements().length.toString(),
      request.tokensLeft > 0 ? "room" : "full", list.length.toString(), list.length ? list[0].get("a b").number().toString() : "",
    ];
    changes.keep(i);
    changes.setText(i, text.join("|"));
    changes.setPriority(i, 9);
    changes.setScore(i, 0.25);
    changes.setMetadata(i, new Metadata().setText("z", "\"\\\n\u{1F600}").setInteger("i", -7).setNumber("f", 0.1).setBool("b", true)
      .setNull("n").setJSON("list", "[1,{\"a\":\"b\"}]").setText("a", String.fromCharCode(0xd800)).setText("z", "last"));
  }
  const item = new NewItem("a new item");
  item.key = "key";
  item.source = "retrieval";
  item.score = 0.75;
  item.priority = 3;
  item.metadata = new Metadata().setText("from", "here");
  const first = changes.add(item);
  const second = changes.add(new NewItem("another"));
  changes.order(second);
  for (let i = request.length - 1; i >= 0; i--) if (i != 1) changes.order(i);
  changes.order(first);
  return DONE;
}
