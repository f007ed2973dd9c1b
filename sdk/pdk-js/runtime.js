// Runs inside the plugin, before plugin.js: the globals it may use, and the way
// calls of the host reach its functions.
(function () {
  "use strict";
  // What glue.wat offers, by a letter; package jsbuild lists them.
  const own = {};
  for (const letter of "LCOBTAJUYRSHMGPKEFNZ") {
    own[letter] = globalThis[`anchor${letter}`];
    delete globalThis[`anchor${letter}`];
  }

  // The engine changes the case of a text character by character, about 200 times as dear as the shell, which
  // does it for long texts in ASCII.
  const cases = (name, first) => {
    const engine = String.prototype[name];
    const method = { [name]() { return (typeof this === "string" && this.length > 64 ? own.O(this, first) : undefined) ?? engine.call(this); } }[name];
    Object.defineProperty(String.prototype, name, { value: method, writable: true, configurable: true });
  };
  cases("toLowerCase", 65);
  cases("toUpperCase", 97);

  // The lines of the author's files that lines of the script are from, see Trace in package jsbuild.
  let table = "", files, rows;
  const original = (line, column) => {
    if (!rows) ({ files, rows } = table ? JSON.parse(table) : { files: [], rows: [] });
    let found = -4;
    for (let i = 0; i < rows.length && (rows[i] < line - 1 || (rows[i] === line - 1 && rows[i + 1] < column)); i += 4) found = i;
    return found >= 0 && rows[found + 2] >= 0 ? `${files[rows[found + 2]]}:${rows[found + 3] + (line - 1 - rows[found])}` : undefined;
  };
  // A stack with the author's lines. Those of this file, and of what is between files, say nothing to authors.
  const mapped = (stack) => stack.split("\n").filter((frame) => /^\s*at /.test(frame) && !/\bruntime\.js:|\bnode:|\bcheck\.mjs:|\(native\)/.test(frame))
    .map((frame) => frame.replace(/\bplugin\.js:(\d+):(\d+)/, (place, line, column) => original(+line, +column) ?? place))
    .filter((frame) => !/\bplugin\.js:\d+:\d+/.test(frame)).join("\n");

  // An exception and its causes, which may lead back to it.
  const causes = (error) => {
    const all = [];
    for (let e = error; e !== undefined && e !== null && all.length < 8; e = e.cause) all.push(e);
    return all;
  };
  // Globals that authors look for in vain, and what to do.
  const absent = {
    Intl: "format numbers and dates yourself", XMLHttpRequest: "fetch and host.http send requests", WebSocket: "fetch and host.http send requests",
    Buffer: "take Uint8Array and TextEncoder", process: "config(key) reads what the operator configured", require: "write import",
  };
  const named = (error) => {
    const [, name] = /^ReferenceError: '?(\w+)'? is not defined$/.exec(String(error)) ?? [];
    return Object.hasOwn(absent, name) ? `${error} (plugins have none; ${absent[name]})` : String(error);
  };
  // What an exception says, with its causes.
  const says = (error) => {
    if (!(error instanceof Error)) return show(error);
    const parts = causes(error).map((e) => (e instanceof Error ? named(e) : show(e)));
    if (Array.isArray(error.errors)) parts.push(`all of: ${error.errors.slice(0, 8).map(String).join("; ")}`);
    return parts.join("; caused by ");
  };
  const show = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) {
      const stacks = causes(value).map((e, i) => `${i ? `caused by ${e}\n` : ""}${mapped(e.stack ?? "")}`);
      return [says(value), ...stacks].filter((part) => part !== "").join("\n");
    }
    try {
      return JSON.stringify(value) ?? String(value);
    } catch {
      return String(value);
    }
  };
  const log = (level) => (...values) => { own.L(level, values.map(show).join(" ").toWellFormed()); };

  // console.log and its siblings write to the host's log.
  globalThis.console = { debug: log(0), trace: log(0), log: log(1), info: log(1), warn: log(2), error: log(3) };

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

  // Promises that were rejected while nobody waited for them, and why.
  const rejected = new Map();
  own.U((promise, reason, handled) => { handled ? rejected.delete(promise) : rejected.set(promise, reason); });
  const judgeRejected = () => {
    for (const [, reason] of rejected) throw reason;
  };

  // Timers run in the order of their times, after the jobs of promises. Each is { id, at, every, run }.
  let timers = [], lastTimer = 0;
  const now = () => performance.now();
  const jobs = () => {
    const thrown = own.J();
    if (thrown !== undefined) throw thrown;
  };
  const runTimer = () => {
    const next = timers.reduce((a, b) => (b.at < a.at ? b : a));
    const wait = next.at - now();
    if (wait > 0) own.Z(wait);
    if (next.every < 0) timers.splice(timers.indexOf(next), 1);
    else next.at = now() + Math.max(1, next.every);
    next.run();
    jobs();
  };

  // The result of a promise: runs jobs and timers until it has one.
  const awaited = (promise, what) => {
    let state = 0, result;
    promise.then((value) => { state = 1; result = value; }, (error) => { state = 2; result = error; });
    for (jobs(); state === 0; runTimer()) {
      if (timers.length === 0) throw new Error(`${what}: waits for a promise that nothing can settle`);
    }
    if (state === 2) throw result;
    return result;
  };

  // What globals.js needs of this file.
  const shared = {
    encode: (text) => new Uint8Array(text ? own.A(own.B(text)) : 0),
    decode: (view) => text(block(view)),
    random: (size) => own.Y(size),
    timer(run, wait, every) {
      timers.push({ id: ++lastTimer, at: now() + wait, every, run });
      return lastTimer;
    },
    stop(id) { timers = timers.filter((timer) => timer.id !== id); },
  };

  let handlers;
  globalThis.anchorRegister = (body, trace) => {
    delete globalThis.anchorRegister;
    table = trace;
    try {
      handlers = body(globalThis.host, shared);
      for (const [name, f] of Object.entries(handlers)) {
        if (typeof f !== "function") throw new TypeError(`${name} is exported, and is no function`);
      }
      jobs();
      judgeRejected();
    } catch (error) {
      throw show(error).toWellFormed();
    }
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

  // An edit leaves out what stays as it is. One of nothing, or of an undefined text, is a mistake such as a
  // misspelt name.
  const judgeEdits = (operation, { edits }) => {
    if (!Array.isArray(edits)) return;
    edits.forEach((edit, i) => {
      const { row, ...changed } = edit ?? {};
      const nothing = Object.values(changed).every((value) => value === undefined);
      if (nothing || ("content" in changed && changed.content === undefined)) {
        throw new TypeError(`${operation}: edits[${i}]${nothing ? " changes nothing" : ".content is undefined"} (leave it out, or give it a text)`);
      }
    });
  };

  // Numbers of JSON that a double does not hold as they were written: 9007199254740993, 1.0. An edit that
  // copies metadata gets them as they were sent, under their names; large integers under any name.
  const isOdd = (value) => JSON.isRawJSON(value);
  const restored = (value, sent, integers, path) => {
    if (typeof value === "number") {
      if (isOdd(sent) && Number(sent.rawJSON) === value) return sent;
      const all = Number.isInteger(value) && !Number.isSafeInteger(value) ? integers.get(value) : undefined;
      if (all?.size > 1) throw new RangeError(`${path} is ${[...all].join(" or ")}, which are one number in JavaScript (copy it under its own name)`);
      return all ? JSON.rawJSON([...all][0]) : value;
    }
    if (Array.isArray(value)) return value.map((v, i) => restored(v, sent?.[i], integers, `${path}[${i}]`));
    if (value === null || typeof value !== "object" || typeof value.toJSON === "function" || isOdd(value)) return value;
    const from = sent !== null && typeof sent === "object" && !isOdd(sent) ? sent : {};
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, restored(v, Object.hasOwn(from, k) ? from[k] : undefined, integers, `${path}.${k}`)]));
  };
  const exact = (input, answer) => {
    const has = (list) => Array.isArray(list) && list.some((entry) => entry?.metadata);
    if (!has(answer.edits) && !has(answer.items)) return answer;
    const integers = new Map();
    const sent = JSON.parse(input, (_, value, { source } = {}) => {
      if (typeof value !== "number" || String(value) === source) return value;
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) integers.set(value, (integers.get(value) ?? new Set()).add(source));
      return JSON.rawJSON(source);
    });
    const whole = (list, of) => list?.map?.((entry, i) => (entry?.metadata
      ? { ...entry, metadata: restored(entry.metadata, of(entry)?.metadata, integers, `metadata of ${i}`) } : entry));
    return { ...answer, ...(answer.edits && { edits: whole(answer.edits, (e) => sent.items?.[e.row]) }), ...(answer.items && { items: whole(answer.items, () => undefined) }) };
  };

  const silent = new Set(["init", "observe"]); // they have no answer

  // Returns "=" and the answer, "!" and an error, "." for done without an answer,
  // or "" for no change.
  return (operation, input) => {
    try {
      rejected.clear();
      timers = [];
      const request = JSON.parse(input);
      watch(request);
      let answer = handlers[operation](request, request.settings ?? {});
      if (typeof answer?.then === "function") answer = awaited(answer, operation);
      else jobs();
      judgeRejected();
      if (silent.has(operation)) return ".";
      if (answer === undefined || answer === null) return "";
      judgeEdits(operation, answer);
      return "=" + wellFormed(JSON.stringify(exact(input, answer)));
    } catch (error) {
      if (error?.stack) console.error(error);
      return "!" + says(error).toWellFormed();
    }
  };
})();
