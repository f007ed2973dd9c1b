// citations writes the window with numbered sources.

import { inDocument, quote, Value } from "./anchor/index";
export { anchor_abi_1, anchor_mailbox, anchor_reserve } from "./anchor/serve";

export function anchor_format(): i32 { return inDocument(format); }

const advice = "Answer from the sources in the last message. Name the sources of each statement by their numbers, such as [1] or [2][3]. " +
  "If the sources do not have the answer, say so.";

/** What the model may cite: one page or document, of which the window has one or more texts. */
class Source {
  texts: string[] = [];
  constructor(public title: string, public url: string) {}

  get name(): string { return this.title.length ? this.title : this.url; }
}

/** A message of the conversation, or a remembered fact. */
class Turn {
  constructor(public role: string, public text: string, public at: string) {}
}

class Parts {
  system: string[] = [];
  turns: Turn[] = [];
  sources: Source[] = [];
  private known: Map<string, Source> = new Map();

  constructor(items: Value[], titles: string[], urls: string[]) {
    for (let i = 0; i < items.length; i++) {
      const text = items[i].get("content").text().trim();
      if (!text.length) continue;
      const kind = items[i].get("source").text();
      if (kind == "system") this.system.push(text);
      else if (kind == "conversation" || kind == "memory") this.turns.push(turn(items[i], text));
      else this.addSource(items[i].get("metadata"), text, titles, urls);
    }
    this.turns.sort((a: Turn, b: Turn): i32 => a.at < b.at ? -1 : a.at > b.at ? 1 : 0);
  }

  /** Texts with the same address, or else with the same title, are of one source. */
  private addSource(metadata: Value, text: string, titles: string[], urls: string[]): void {
    const title = oneLine(first(metadata, titles));
    const url = oneLine(first(metadata, urls));
    const key = url.length ? url : title;
    let source: Source;
    if (key.length && this.known.has(key)) source = this.known.get(key);
    else {
      source = new Source(title, url);
      this.sources.push(source);
      if (key.length) this.known.set(key, source);
    }
    // Retrievers put the title before the text, and here it is above it already.
    const rest = title.length && text.startsWith(title + "\n") ? text.substring(title.length).trim() : text;
    source.texts.push(rest);
  }
}

function turn(item: Value, text: string): Turn {
  const assistant = item.get("metadata").get("role").text() == "assistant";
  const at = item.get("created_at").text();
  return new Turn(assistant ? "assistant" : "user", text, at.endsWith("Z") ? at.substring(0, at.length - 1) : at);
}

function first(metadata: Value, keys: string[]): string {
  for (let i = 0; i < keys.length; i++) {
    const text = metadata.get(keys[i]).text().trim();
    if (text.length) return text;
  }
  return "";
}

const longest = 1000;

/** A title with line breaks could look like another source, and a long one is no title. */
function oneLine(text: string): string {
  let out = "";
  for (let i = 0; i < min(text.length, longest); i++) {
    const c = text.charCodeAt(i);
    out += c < 0x20 || c == 0x7f || c == 0x85 || c == 0x2028 || c == 0x2029 ? " " : text.charAt(i);
  }
  return out;
}

function strings(list: Value, fallback: string[]): string[] {
  if (!list.exists) return fallback;
  return list.elements().map<string>((v: Value): string => v.text());
}

function format(request: Value): string | null {
  const settings = request.get("settings");
  const titles = strings(settings.get("title_keys"), ["title", "name", "path"]);
  const parts = new Parts(request.get("items").elements(), titles, strings(settings.get("url_keys"), ["url", "source", "path"]));
  const form = settings.get("form").text("openai");
  const last = parts.turns.length ? parts.turns[parts.turns.length - 1] : null;
  let question = request.get("query").text().trim();
  // The last turn may be the question already. Then it is written with the sources, at the end.
  if (last !== null && last.role == "user" && last.text == question) parts.turns.pop();
  const told = settings.get("instruction").text();
  const instruction = told.length ? told : form == "anthropic" ? "" : advice;
  if (parts.sources.length && instruction.length) parts.system.push(instruction);
  let output: string;
  if (form == "anthropic") output = anthropic(parts, question);
  else if (form == "text") output = plain(parts, question);
  else output = openai(parts, question);
  return '{"format_type":' + quote("citations/" + form) + ',"output":' + output + "}";
}

/** The sources with their numbers. */
function numbered(sources: Source[]): string {
  const blocks: string[] = [];
  for (let i = 0; i < sources.length; i++) {
    const s = sources[i];
    let head = "[" + (i + 1).toString() + "]";
    if (s.name.length) head += " " + s.name;
    if (s.url.length && s.url != s.name) head += " (" + s.url + ")";
    blocks.push(head + "\n" + harmless(s.texts.join("\n\n")));
  }
  return blocks.join("\n\n");
}

/** A text whose lines do not begin like the head of a source: [2] becomes (2). */
function harmless(text: string): string {
  if (!text.includes("[")) return text;
  const lines = text.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i];
    let start = 0;
    while (start < line.length && line.charCodeAt(start) <= 0x20) start++;
    let end = start + 1;
    while (end < line.length && line.charCodeAt(end) - 0x30 < 10 && line.charCodeAt(end) >= 0x30) end++;
    if (line.charAt(start) != "[" || end == start + 1 || line.charAt(end) != "]") continue;
    lines[i] = line.substring(0, start) + "(" + line.substring(start + 1, end) + ")" + line.substring(end + 1);
  }
  return lines.join("\n");
}

/** The sources and the question, as the last message says them. */
function closing(parts: Parts, question: string): string {
  const said: string[] = [];
  if (parts.sources.length) said.push("Sources:\n\n" + numbered(parts.sources));
  if (question.length) said.push(parts.sources.length ? "Question: " + question : question);
  return said.join("\n\n");
}

function message(role: string, content: string): string {
  return '{"role":"' + role + '","content":' + quote(content) + "}";
}

function turnsOf(parts: Parts): string[] {
  return parts.turns.map<string>((t: Turn): string => message(t.role, t.text));
}

function openai(parts: Parts, question: string): string {
  const messages = turnsOf(parts);
  if (parts.system.length) messages.unshift(message("system", parts.system.join("\n\n")));
  const end = closing(parts, question);
  if (end.length) messages.push(message("user", end));
  return '{"messages":[' + messages.join(",") + "]}";
}

function plain(parts: Parts, question: string): string {
  const said: string[] = [];
  if (parts.system.length) said.push(parts.system.join("\n\n"));
  for (let i = 0; i < parts.turns.length; i++) said.push(parts.turns[i].role + ": " + parts.turns[i].text);
  const end = closing(parts, question);
  if (end.length) said.push(end);
  return quote(said.join("\n\n"));
}

/** Each source is a search result, which the API cites by itself. */
function anthropic(parts: Parts, question: string): string {
  const content: string[] = [];
  for (let i = 0; i < parts.sources.length; i++) {
    const s = parts.sources[i];
    const number = "source " + (i + 1).toString();
    const texts = s.texts.map<string>((text: string): string => '{"type":"text","text":' + quote(text) + "}");
    content.push('{"type":"search_result","source":' + quote(s.url.length ? s.url : s.name.length ? s.name : number) + ',"title":' +
      quote(s.name.length ? s.name : number) + ',"content":[' + texts.join(",") + '],"citations":{"enabled":true}}');
  }
  if (question.length) content.push('{"type":"text","text":' + quote(question) + "}");
  const messages = turnsOf(parts);
  if (parts.turns.length && parts.turns[0].role == "assistant") messages.unshift(message("user", "(Earlier messages are left out.)"));
  if (content.length) messages.push('{"role":"user","content":[' + content.join(",") + "]}");
  const system = parts.system.length ? '"system":' + quote(parts.system.join("\n\n")) + "," : "";
  return "{" + system + '"messages":[' + messages.join(",") + "]}";
}
