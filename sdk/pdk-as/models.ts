// Vectors of texts, search in collections, and answers of models. Each needs the permission
// service in plugin.yaml. The operator chooses which models and collections there are. A module
// imports only what it uses.

import { block, blockOf, bytesOf } from "./host";
import { quote, Value } from "./json";

// @ts-ignore: decorator
@external("extism:host/user", "anchor_embed")
declare function anchorEmbed(request: u64): u64;
// @ts-ignore: decorator
@external("extism:host/user", "anchor_search")
declare function anchorSearch(request: u64): u64;
// @ts-ignore: decorator
@external("extism:host/user", "anchor_llm")
declare function anchorLlm(request: u64): u64;

/** What a service answered, or why it did not. */
export class ServiceAnswer {
  /**
   * Empty if there is an answer. Else timeout (there was none in time), unavailable (the service
   * cannot be reached, or refuses for now), refused (it refuses this request), invalid (the answer
   * is not what was asked for, such as no JSON), budget (the calls or the tokens of the build are
   * spent) or not_found (there is no such collection).
   */
  error: string = "";
  /** What went wrong, for people. */
  message: string = "";

  /** Whether there is an answer. */
  get ok(): bool { return this.error == ""; }

  /** Takes over why there is no answer, if there is none. Words of later hosts mean unavailable. */
  protected judge(answer: Value): bool {
    if (!answer.exists) return this.fail("the host has not answered");
    const error = answer.get("error");
    if (!error.exists) return true;
    const known = ["timeout", "refused", "invalid", "budget", "not_found"].includes(error.text());
    this.error = known ? error.text() : "unavailable";
    this.message = answer.get("message").text();
    return false;
  }

  protected fail(message: string): bool {
    this.error = "invalid";
    this.message = message;
    return false;
  }
}

function member(name: string, value: string): string {
  return value == "" ? "" : ',"' + name + '":' + quote(value);
}

function natural(name: string, value: u64): string {
  return value ? ',"' + name + '":' + value.toString() : "";
}

function list(texts: string[]): string {
  let text = "[";
  for (let i = 0; i < texts.length; i++) text += (i ? "," : "") + quote(texts[i]);
  return text + "]";
}

/** The vectors of texts, in the order of the texts. Vectors of different models cannot be compared. */
@final
export class Vectors extends ServiceAnswer {
  model: string = "";
  /** How many numbers a vector has. */
  dimension: i32 = 0;
  /** All vectors, one after the other. */
  values: Float32Array = new Float32Array(0);

  /** answer is that of the host to so many texts. */
  constructor(answer: Value, texts: i32) {
    super();
    if (this.judge(answer)) this.read(answer, texts);
  }

  private read(answer: Value, texts: i32): void {
    const bytes = bytesOf(answer.get("vectors").integer());
    const dimension = answer.get("dimension").integer();
    if ((!dimension && texts) || <i64>bytes.length != 4 * dimension * texts) {
      this.fail("the host has not answered with a vector for each text");
      return;
    }
    this.model = answer.get("model").text();
    this.dimension = <i32>dimension;
    this.values = Float32Array.wrap(bytes.buffer);
  }

  /** The vector of text i, without a copy. */
  at(i: i32): Float32Array { return this.values.subarray(i * this.dimension, (i + 1) * this.dimension); }
}

/**
 * Makes vectors of up to 1024 texts, with the permission service: embed. side is "query" for
 * questions, for which documents are looked for, else "document".
 */
export function embed(texts: string[], side: string = "document"): Vectors {
  const request = '{"side":' + quote(side) + ',"texts":' + list(texts) + "}";
  return new Vectors(Value.of(bytesOf(anchorEmbed(block(request)))), texts.length);
}

/** What to look for in a collection: new Search("which fox?").where("path", "prefix", ["a/"]). */
export class Search {
  /** The collection. Empty: the first that the operator grants. */
  collection: string = "";
  /** The vector of what is looked for. null: the host makes one of the text if it needs one. */
  vector: Float32Array | null = null;
  /** words, vectors or hybrid. Empty: what the request and the collection have. */
  by: string = "";
  /** The most hits, up to 1000. 0: 10. */
  k: u32 = 0;
  private filter: string = "";

  constructor(public text: string) {}

  /**
   * Says what each hit must be like. field is id, path, title, hash, time, heading, page, line, or
   * a name in the metadata; op is =, !=, prefix, >=, <=, > or <.
   */
  where(field: string, op: string, values: string[]): Search {
    this.filter += (this.filter == "" ? "" : ",") + '{"field":' + quote(field) + ',"op":' + quote(op) + ',"values":' + list(values) + "}";
    return this;
  }

  /** The document for the host. */
  document(): string {
    let text = member("collection", this.collection) + member("text", this.text);
    const vector = this.vector;
    if (vector !== null && vector.length) {
      const bytes = Uint8Array.wrap(vector.buffer, vector.byteOffset, vector.byteLength);
      text += natural("vector", blockOf(bytes)) + natural("dimension", vector.length);
    }
    text += member("by", this.by) + natural("k", this.k);
    if (this.filter != "") text += ',"filter":[' + this.filter + "]";
    return "{" + text.slice(1) + "}";
  }
}

/** A piece of a document that was found. What it does not have is empty or 0. */
@final
export class Hit {
  document: string;
  /** The number of the piece in its document, from 1. */
  chunk: i32;
  /** 0 to 1. */
  score: f64;
  text: string;
  title: string;
  path: string;
  /** The headings above the piece, the highest first. */
  headings: string[] = [];
  page: i32;
  lineFrom: i32;
  lineTo: i32;
  /** The metadata of the document. */
  metadata: Value;

  constructor(hit: Value) {
    this.document = hit.get("document").text();
    this.chunk = <i32>hit.get("chunk").integer();
    this.score = hit.get("score").number();
    this.text = hit.get("text").text();
    this.title = hit.get("title").text();
    this.path = hit.get("path").text();
    this.page = <i32>hit.get("page").integer();
    this.lineFrom = <i32>hit.get("line_from").integer();
    this.lineTo = <i32>hit.get("line_to").integer();
    this.metadata = hit.get("metadata");
    const headings = hit.get("headings").elements();
    for (let i = 0; i < headings.length; i++) this.headings.push(headings[i].text());
  }
}

/** What was found, the best first. */
@final
export class Hits extends ServiceAnswer {
  list: Hit[] = [];

  constructor(answer: Value) {
    super();
    const hits = this.judge(answer) ? answer.get("hits").elements() : [];
    for (let i = 0; i < hits.length; i++) this.list.push(new Hit(hits[i]));
  }
}

/** Searches a collection, with the permission service: search. */
export function search(query: Search): Hits {
  return new Hits(Value.of(bytesOf(anchorSearch(block(query.document())))));
}

/** What to ask a model: new LlmRequest().system("Be brief.").user("Which fox?"). */
export class LlmRequest {
  /** The operator's name of the model. Empty: the first that is granted. */
  model: string = "";
  /** The JSON Schema of an object, as text. The answer is then JSON that fits it. Empty: any text. */
  schema: string = "";
  /** The most tokens of the answer. 0: what the operator allows. */
  maxTokens: u32 = 0;
  /** How much chance there is in the answer, 0 to 2. NaN: the operator's value. */
  temperature: f64 = NaN;
  private messages: string = "";

  /** Adds what the model is and does. */
  system(content: string): LlmRequest { return this.add("system", content); }
  /** Adds what the model is asked. */
  user(content: string): LlmRequest { return this.add("user", content); }
  /** Adds what the model has answered. */
  assistant(content: string): LlmRequest { return this.add("assistant", content); }

  private add(role: string, content: string): LlmRequest {
    this.messages += (this.messages == "" ? "" : ",") + '{"role":"' + role + '","content":' + quote(content) + "}";
    return this;
  }

  /** The document for the host. */
  document(): string {
    let text = '{"messages":[' + this.messages + "]" + member("model", this.model) + natural("max_tokens", this.maxTokens);
    if (this.schema != "") text += ',"schema":' + this.schema;
    if (!isNaN(this.temperature)) text += ',"temperature":' + this.temperature.toString();
    return text + "}";
  }
}

/** What a model answered. */
@final
export class LlmAnswer extends ServiceAnswer {
  text: string = "";
  /** The answer to a request with a schema, which fits it. */
  json: Value = new Value(0, 0);
  /** The operator's name of the model. */
  model: string = "";
  inputTokens: i32 = 0;
  outputTokens: i32 = 0;
  /** stop, or length if the answer was cut because it had the most tokens. */
  finish: string = "";

  constructor(answer: Value) {
    super();
    this.judge(answer);
    this.text = answer.get("text").text();
    this.json = answer.get("json");
    this.model = answer.get("model").text();
    this.inputTokens = <i32>answer.get("input_tokens").integer();
    this.outputTokens = <i32>answer.get("output_tokens").integer();
    this.finish = answer.get("finish").text();
  }
}

/** Asks a model, with the permission service: llm. */
export function llm(request: LlmRequest): LlmAnswer { return llmBatch([request])[0]; }

/**
 * Asks up to 32 times at the same time, and returns the answers in the same order. One that fails
 * does not stop the others.
 */
export function llmBatch(requests: LlmRequest[]): LlmAnswer[] {
  let text = '{"requests":[';
  for (let i = 0; i < requests.length; i++) text += (i ? "," : "") + requests[i].document();
  const given = Value.of(bytesOf(anchorLlm(block(text + "]}")))).get("responses").elements();
  const answers: LlmAnswer[] = [];
  for (let i = 0; i < requests.length; i++) answers.push(new LlmAnswer(i < given.length ? given[i] : new Value(0, 0)));
  return answers;
}
