// The globals of a plugin, besides those of the language.

/** The answer to a request. */
interface HostResponse {
  /** 0: there is no answer, and error says why. */
  status: number;
  /** Names are in lower case. */
  headers: Record<string, string>;
  bytes: Uint8Array;
  /** timeout, connect, network and so on; "" if there is an answer. */
  error: string;
  text(): string;
  json(): any;
}

interface HostRequest {
  url: string;
  method?: string;
  headers?: Record<string, string | number>;
  body?: string | ArrayBuffer | ArrayBufferView;
  /** In milliseconds. */
  timeout?: number;
}

interface LlmRequest {
  messages: { role: string; content: string }[];
  /** A JSON Schema: the answer is then in the member json. */
  schema?: object;
  [member: string]: any;
}

interface LlmAnswer {
  text?: string;
  json?: any;
  [member: string]: any;
}

/** What needs a permission in plugin.yaml. */
declare const host: {
  http(request: string | HostRequest): HostResponse;
  /** Up to 32 requests at the same time. */
  httpBatch(requests: (string | HostRequest)[]): HostResponse[];
  kvGet(key: string): string | null;
  kvGetBytes(key: string): Uint8Array | null;
  /** Whether the value was stored. */
  kvSet(key: string, value: string | ArrayBuffer | ArrayBufferView): boolean;
  kvDelete(key: string): void;
  countTokens(text: string): number;
  embed(texts: string[], side?: "query" | "document"): { model: string; dimension: number; vectors: Float32Array[] };
  search(query: { text?: string; vector?: ArrayLike<number>; k?: number; filter?: object[]; [member: string]: any }): { text: string; score: number; [member: string]: any }[];
  /** Throws an error with the member word: timeout, refused, invalid, budget, not_found or unavailable. */
  llm(request: LlmRequest): LlmAnswer;
  llmBatch(requests: LlmRequest[]): (LlmAnswer & { error?: string; message?: string })[];
};

/** A value that the operator configured. */
declare function config(key: string): string | null;

declare const console: Record<"debug" | "trace" | "log" | "info" | "warn" | "error", (...values: any[]) => void>;

declare class TextEncoder { encode(text?: string): Uint8Array<ArrayBuffer>; encodeInto(text: string, target: Uint8Array): { read: number; written: number } }
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  decode(input?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}
declare class URLSearchParams implements Iterable<[string, string]> {
  constructor(init?: string | Record<string, string> | Iterable<[string, string]>);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(f: (value: string, name: string) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare class URL {
  constructor(address: string | URL, base?: string | URL);
  static canParse(address: string, base?: string): boolean;
  static parse(address: string, base?: string): URL | null;
  href: string; protocol: string; username: string; password: string; host: string; hostname: string; port: string;
  pathname: string; search: string; hash: string;
  readonly origin: string;
  readonly searchParams: URLSearchParams;
  toJSON(): string;
}
declare function structuredClone<T>(value: T): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;
declare function queueMicrotask(run: () => void): void;
declare function setTimeout(run: (...values: any[]) => void, wait?: number, ...values: any[]): number;
declare function setInterval(run: (...values: any[]) => void, wait?: number, ...values: any[]): number;
declare function setImmediate(run: (...values: any[]) => void, ...values: any[]): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;
declare const crypto: { getRandomValues<T extends ArrayBufferView>(view: T): T; randomUUID(): string };
declare const performance: { now(): number };
/** With the permission http: a request of host.httpBatch. */
declare function fetch(url: string | URL, init?: { method?: string; headers?: any; body?: any; timeout?: number }): Promise<{
  ok: boolean; status: number; statusText: string; url: string; headers: { get(name: string): string | null; has(name: string): boolean };
  text(): Promise<string>; json(): Promise<any>; bytes(): Promise<Uint8Array>; arrayBuffer(): Promise<ArrayBuffer>;
}>;
