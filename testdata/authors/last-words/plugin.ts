// last-words condenses a conversation to what each side said last.

import { inDocument, quote, Value } from "./anchor/index";
export { anchor_abi_1, anchor_mailbox, anchor_reserve } from "./anchor/serve";

export function anchor_compact(): i32 { return inDocument(compact); }

function compact(request: Value): string | null {
  const turns = request.get("turns").elements();
  const last = new Map<string, string>();
  for (let i = 0; i < turns.length; i++) last.set(turns[i].get("role").text(), turns[i].get("content").text());
  const roles = last.keys();
  let text = request.get("summary").text();
  for (let i = 0; i < roles.length; i++) text += "\n" + roles[i] + ": " + last.get(roles[i]);
  return '{"summary":' + quote(text.trim()) + "}";
}
