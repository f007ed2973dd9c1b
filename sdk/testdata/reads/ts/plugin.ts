// Reads columns that its manifest does not name.

import { Changes, DONE, inBatch, inJSON, Request } from "./anchor/index";
export { anchor_abi_1, anchor_mailbox, anchor_reserve } from "./anchor/serve";

export function anchor_filter(): i32 { return inJSON(keep); }
export function anchor_batch_filter(at: usize, n: u32): i32 { return inBatch(keep, at, n); }

function keep(request: Request, changes: Changes): i32 {
  changes.keepNone();
  for (let i = 0; i < request.length; i++) {
    if (request.metaText(i, "drop") === null && request.source(i) != "tool" && request.text(i) != "") changes.keep(i);
  }
  return DONE;
}
