// Runs inside the plugin, before plugin.js: the globals it may use, and the way
// calls of the host reach its functions.
(function () {
  "use strict";
  // What glue.wat offers, by a letter; build.mjs lists them.
  const own = {};
  for (const letter of "LCBTARSHMGPKEFN") {
    own[letter] = globalThis[`anchor${letter}`];
    delete globalThis[`anchor${letter}`];
  }

  const show = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return value.stack ? `${value}\n${value.stack}` : String(value);
    try {
      return JSON.stringify(value) ?? String(value);
    } catch {
      return String(value);
    }
  };
  const log = (level) => (...values) => { own.L(level, values.map(show).join(" ").toWellFormed()); };

  // console.log and its siblings write to the host's log.
  globalThis.console = { debug: log(0), log: log(1), info: log(1), warn: log(2), error: log(3) };

  // config(key) is the value that the operator configured, or null.
  globalThis.config = (key) => own.C(String(key).toWellFormed());

  // JSON.stringify writes half a character as an escape, which hosts refuse. It becomes what
  // toWellFormed makes of it. Every other escape is matched as a whole and stays.
  const wellFormed = (json) => !json?.includes("\\ud") ? json :
    json.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|[^])/g, (escape, half) => (half ? "\ufffd" : escape));

  // The handle of a block with text or bytes, 0 for none.
  const block = (value, what) => {
    if (value === undefined || value === null) return 0;
    if (value instanceof ArrayBuffer) return value.byteLength ? own.B(value) : 0;
    if (ArrayBuffer.isView(value)) return block(value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength));
    if (typeof value !== "string") throw new TypeError(`${what}: want text, an ArrayBuffer or a typed array`);
    return value ? own.B(value.toWellFormed()) : 0;
  };
  const text = (handle) => (handle ? own.T(handle) : "");
  const bytes = (handle) => new Uint8Array(handle ? own.A(handle) : 0);

  class Response {
    constructor(status, headers, body, error) { Object.assign(this, { status, headers, bytes: bytes(body), error }); }
    text() { return text(block(this.bytes)); }
    json() { return JSON.parse(this.text()); }
  }

  // The document of a request: an address, or { url, method, headers, body, timeout }.
  const stated = (request) => {
    const { url, method = "GET", headers = {}, timeout = 0 } = typeof request === "string" ? { url: request } : request;
    return { url: String(url), method, headers: Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, String(v)])), timeout_ms: Math.ceil(timeout) };
  };
  const document = (value) => block(wellFormed(JSON.stringify(value)));

  // host has what needs a permission. A function that the plugin does not name is missing.
  globalThis.host = {};
  const offer = (letter, functions) => { if (own[letter]) Object.assign(globalThis.host, functions); };
  offer("R", {
    http(request) {
      const body = own.R(document(stated(request)), block(request.body, "body"));
      const status = own.S(), headers = own.H();
      const all = headers ? JSON.parse(text(headers)) : {};
      return new Response(status, status ? all : {}, status ? body : 0, status ? "" : all["anchor-error"] ?? "");
    },
  });
  offer("M", {
    httpBatch(list) {
      const requests = list.map((request) => {
        const body = block(request.body, "body");
        return body ? { ...stated(request), body } : stated(request);
      });
      const { responses } = JSON.parse(text(own.M(document({ requests }))));
      return responses.map((r) => new Response(r.status, r.headers ?? {}, r.body ?? 0, r.error ?? ""));
    },
  });
  const key = (name) => block(String(name), "key");
  offer("G", {
    kvGet(name) { const found = own.G(key(name)); return found ? text(found) : null; },
    kvGetBytes(name) { const found = own.G(key(name)); return found ? bytes(found) : null; },
  });
  offer("P", {
    kvSet(name, value) { return own.P(key(name), block(value, "value")) === 0; },
    kvDelete(name) { own.P(key(name), 0); },
  });
  offer("K", { countTokens(value) { return own.K(block(String(value))); } });

  // Why a service has no answer. Words of later hosts mean that it is unavailable.
  const words = ["timeout", "refused", "invalid", "budget", "not_found"];
  const judged = ({ error, message = "", ...answer }) => (error ? { error: words.includes(error) ? error : "unavailable", message } : answer);
  // The answer of a service, or an exception with the word in its member word.
  const answered = (answer) => {
    const { error, message, ...rest } = judged(answer);
    if (error) throw Object.assign(new Error(message), { name: "ServiceError", word: error });
    return rest;
  };
  offer("E", {
    embed(texts, side = "document") {
      const { model = "", dimension = 0, vectors } = answered(JSON.parse(text(own.E(document({ side, texts: texts.map(String) })))));
      const all = new Float32Array(vectors ? own.A(vectors) : 0);
      const whole = all.length === dimension * texts.length && (dimension || !texts.length);
      if (!whole) answered({ error: "invalid", message: "the host has not answered with a vector for each text" });
      return { model, dimension, vectors: texts.map((_, i) => all.subarray(i * dimension, (i + 1) * dimension)) };
    },
  });
  offer("F", {
    search({ vector, ...query }) {
      if (vector) Object.assign(query, { vector: block(Float32Array.from(vector), "vector"), dimension: vector.length });
      return answered(JSON.parse(text(own.F(document(query))))).hits ?? [];
    },
  });
  const llmBatch = (requests) => JSON.parse(text(own.N(document({ requests })))).responses.map(judged);
  offer("N", { llmBatch, llm: (request) => answered(llmBatch([request])[0]) });

  let handlers;
  globalThis.anchorRegister = (functions) => {
    delete globalThis.anchorRegister;
    handlers = functions;
  };

  // The items of a request say once for each column that the plugin reads it although it was not
  // sent. The host knows the manifest, and warns if it does not name the column. A member that an
  // item has is found before the prototype is asked.
  const columns = { id: "id", score: "score", content: "text", metadata: "metadata", source: "source", priority: "priority", token_count: "token_count", created_at: "created_at", embedding: "embedding" };
  let sent = [];
  const prototype = new Proxy(Object.prototype, {
    get(target, name, item) {
      const column = Object.hasOwn(columns, name) ? columns[name] : undefined;
      if (column && !sent.includes(column)) {
        sent.push(column);
        own.L(2, `anchor: column ${column} was not sent`);
      }
      return Reflect.get(target, name, item);
    },
  });
  const watch = (request) => {
    if (!Array.isArray(request.columns) || !Array.isArray(request.items)) return;
    sent = [...request.columns];
    for (const item of request.items) if (item) Object.setPrototypeOf(item, prototype);
  };

  const silent = new Set(["init", "observe"]); // they have no answer

  // Returns "=" and the answer, "!" and an error, "." for done without an answer,
  // or "" for no change.
  return (operation, input) => {
    try {
      const request = JSON.parse(input);
      watch(request);
      const answer = handlers[operation](request, request.settings ?? {});
      if (typeof answer?.then === "function") throw new TypeError(`${operation}: returned a promise (functions must not be async)`);
      if (silent.has(operation)) return ".";
      return answer === undefined || answer === null ? "" : "=" + wellFormed(JSON.stringify(answer));
    } catch (error) {
      if (error?.stack) console.error(error);
      return "!" + String(error).toWellFormed();
    }
  };
})();
