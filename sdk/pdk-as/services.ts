// What needs a permission in plugin.yaml: HTTP, the key-value store, token counts. A module
// imports only what it uses.

import { block, blockOf, bytesOf, decode } from "./host";
import { quote, Value } from "./json";

// @ts-ignore: decorator
@external("extism:host/env", "http_request")
declare function httpRequest(request: u64, body: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "http_status_code")
declare function httpStatusCode(): i32;
// @ts-ignore: decorator
@external("extism:host/env", "http_headers")
declare function httpHeaders(): u64;
// @ts-ignore: decorator
@external("extism:host/user", "anchor_http_batch")
declare function anchorBatch(requests: u64): u64;
// @ts-ignore: decorator
@external("extism:host/user", "anchor_kv_get")
declare function kvGet(key: u64): u64;
// @ts-ignore: decorator
@external("extism:host/user", "anchor_kv_set")
declare function kvSet(key: u64, value: u64): i32;
// @ts-ignore: decorator
@external("extism:host/user", "anchor_count_tokens")
declare function anchorCountTokens(text: u64): u64;

/** A request for the host to send, with the permission http. */
export class HttpRequest {
  method: string = "GET";
  body: Uint8Array | null = null;
  /** The milliseconds after which there is no answer. 0: the request has the time of the call. */
  timeout: u32 = 0;
  private headers: Map<string, string> = new Map();

  constructor(public url: string) {}

  /** Sets a header. */
  header(name: string, value: string): HttpRequest {
    this.headers.set(name, value);
    return this;
  }

  /** Makes a text the body, and POST the method. */
  post(body: string): HttpRequest {
    this.method = "POST";
    this.body = Uint8Array.wrap(String.UTF8.encode(body));
    return this;
  }

  /** The document for the host. body is the block of the body, 0 for none. */
  document(body: u64): string {
    let text = '{"method":' + quote(this.method) + ',"url":' + quote(this.url) + ',"headers":{';
    const names = this.headers.keys();
    for (let i = 0; i < names.length; i++) {
      text += (i ? "," : "") + quote(names[i]) + ":" + quote(this.headers.get(names[i]));
    }
    text += "}";
    if (this.timeout) text += ',"timeout_ms":' + this.timeout.toString();
    if (body) text += ',"body":' + body.toString();
    return text + "}";
  }
}

/** The answer of a server. */
@final
export class HttpResponse {
  constructor(
    /** 0: there is no answer. */
    public status: i32,
    private headers: Value,
    public body: Uint8Array,
    /** Why there is no answer: timeout, dns, connect, certificate, tls, reset, short_body, too_large or network. */
    public error: string,
  ) {}

  /** A header, or the empty text. Its name may be in any case. */
  header(name: string): string { return this.headers.get(name.toLowerCase()).text(); }

  /** The body as text. */
  text(): string { return decode(this.body); }

  /** The body as JSON. */
  json(): Value { return Value.of(this.body); }
}

/** Sends a request. Without an answer `error` says why. */
export function http(request: HttpRequest): HttpResponse {
  const body = httpRequest(block(request.document(0)), blockOf(request.body));
  const status = httpStatusCode();
  const headers = Value.of(bytesOf(httpHeaders()));
  return new HttpResponse(status, headers, bytesOf(status ? body : 0), status ? "" : headers.get("anchor-error").text());
}

/**
 * Sends up to 32 requests at the same time, and returns their answers in the same order. The
 * host's limits for bodies hold for those of the whole batch. Only anchor-host offers it.
 */
export function httpBatch(requests: HttpRequest[]): HttpResponse[] {
  let text = '{"requests":[';
  for (let i = 0; i < requests.length; i++) text += (i ? "," : "") + requests[i].document(blockOf(requests[i].body));
  const answers = Value.of(bytesOf(anchorBatch(block(text + "]}")))).get("responses").elements();
  const responses: HttpResponse[] = [];
  for (let i = 0; i < answers.length; i++) {
    const a = answers[i];
    responses.push(new HttpResponse(<i32>a.get("status").integer(), a.get("headers"), bytesOf(a.get("body").integer()), a.get("error").text()));
  }
  return responses;
}

/** The key-value store, with the permission kv. */
export namespace kv {
  /** The value of a key, or null. */
  export function get(key: string): Uint8Array | null {
    const value = kvGet(block(key));
    return value ? bytesOf(value) : null;
  }

  /** The value of a key as text, or null. */
  export function getText(key: string): string | null {
    const value = kvGet(block(key));
    return value ? decode(bytesOf(value)) : null;
  }

  /** Stores a value. An empty one deletes the key. Returns false if there is no room for it. */
  export function set(key: string, value: Uint8Array): bool { return kvSet(block(key), blockOf(value)) == 0; }

  /** Stores a text. */
  export function setText(key: string, value: string): bool { return set(key, Uint8Array.wrap(String.UTF8.encode(value))); }

  /** Deletes a key. */
  export function remove(key: string): void { kvSet(block(key), 0); }
}

/** The number of tokens of a text of at most 1 MiB, with the permission service: count_tokens. */
export function countTokens(text: string): u64 { return anchorCountTokens(block(text)); }
