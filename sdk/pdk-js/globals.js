// Globals of browsers that the engine lacks. A script gets those that it names, and nothing of the others.

const utf8 = ["", "utf-8", "utf8", "unicode-1-1-utf-8"];
const latin1 = ["latin1", "iso-8859-1", "ascii", "us-ascii", "windows-1252"];

// The UTF-8 of a text is made by the engine and the host, not byte by byte here.
export class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(text = "") { return anchorRuntime.encode(String(text).toWellFormed()); }
  encodeInto(text, target) {
    let read = 0, written = 0;
    for (const character of String(text).toWellFormed()) {
      const bytes = this.encode(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += character.length;
      written += bytes.length;
    }
    return { read, written };
  }
}

// How many bytes of the character that begins at i are there, and whether it is whole.
function sequence(bytes, i) {
  const first = bytes[i];
  const size = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (size === 0) return { size: 1, valid: false };
  let lower = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  let upper = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  for (let n = 1; n < size; n++) {
    if (i + n >= bytes.length) return { size: n, valid: false, cut: true };
    if (bytes[i + n] < lower || bytes[i + n] > upper) return { size: n, valid: false };
    [lower, upper] = [0x80, 0xbf];
  }
  return { size, valid: true };
}

export class TextDecoder {
  #rest = new Uint8Array(0);
  #begun = false;
  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    const name = String(label).trim().toLowerCase();
    if (!utf8.includes(name) && !latin1.includes(name)) throw new RangeError(`TextDecoder: has no ${name} (there are utf-8 and latin1)`);
    Object.assign(this, { encoding: utf8.includes(name) ? "utf-8" : "windows-1252", fatal, ignoreBOM });
  }
  decode(input = new Uint8Array(0), { stream = false } = {}) {
    let bytes = ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
    if (this.encoding !== "utf-8") return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
    if (this.#rest.length) {
      const both = new Uint8Array(this.#rest.length + bytes.length);
      both.set(this.#rest);
      both.set(bytes, this.#rest.length);
      bytes = both;
    }
    let kept = 0;
    if (stream) {
      for (let i = Math.max(0, bytes.length - 3); i < bytes.length; i++) {
        if (bytes[i] >= 0xc0 && sequence(bytes, i).cut && i + sequence(bytes, i).size === bytes.length) { kept = bytes.length - i; break; }
      }
    }
    this.#rest = bytes.slice(bytes.length - kept);
    bytes = bytes.subarray(0, bytes.length - kept);
    let text = this.#text(bytes);
    if (!this.ignoreBOM && !this.#begun && text.startsWith("\ufeff")) text = text.slice(1);
    this.#begun = stream && (this.#begun || bytes.length > 0);
    return text;
  }
  // The engine decodes what is valid. How many signs stand for what is not is a rule that it does not have.
  #text(bytes) {
    const fast = anchorRuntime.decode(bytes);
    if (fast.isWellFormed() && !fast.includes("\ufffd")) return fast;
    let text = "", from = 0;
    for (let i = 0; i < bytes.length;) {
      const { size, valid } = sequence(bytes, i);
      if (!valid) {
        if (this.fatal) throw new TypeError("TextDecoder: the bytes are no UTF-8");
        text += anchorRuntime.decode(bytes.subarray(from, i)) + "\ufffd";
        from = i + size;
      }
      i += size;
    }
    return text + anchorRuntime.decode(bytes.subarray(from));
  }
}

export function structuredClone(value, _options) {
  const seen = new Map();
  const refuse = (what) => { throw new DOMException(`structuredClone: ${what} cannot be copied`, "DataCloneError"); };
  const copy = (v) => {
    if (typeof v === "function" || typeof v === "symbol") refuse(typeof v === "symbol" ? "a symbol" : "a function");
    if (v === null || typeof v !== "object") return v;
    if (seen.has(v)) return seen.get(v);
    const note = (made) => { seen.set(v, made); return made; };
    if (v instanceof Date) return note(new Date(v.getTime()));
    if (v instanceof RegExp) return note(new RegExp(v.source, v.flags));
    if (v instanceof Boolean || v instanceof Number || v instanceof String) return note(Object(v.valueOf()));
    if (v instanceof ArrayBuffer) return note(v.slice(0));
    if (v instanceof DataView) return note(new DataView(copy(v.buffer), v.byteOffset, v.byteLength));
    if (ArrayBuffer.isView(v)) return note(new v.constructor(copy(v.buffer), v.byteOffset, v.length));
    if (v instanceof Map) {
      const made = note(new Map());
      for (const [key, member] of v) made.set(copy(key), copy(member));
      return made;
    }
    if (v instanceof Set) {
      const made = note(new Set());
      for (const member of v) made.add(copy(member));
      return made;
    }
    if (v instanceof Error) {
      const made = note(Object.create(Object.getPrototypeOf(v)));
      for (const name of ["name", "message", "stack", "cause"]) {
        if (Object.hasOwn(v, name)) Object.defineProperty(made, name, { value: copy(v[name]), writable: true, configurable: true });
      }
      return made;
    }
    if (v instanceof Promise || v instanceof WeakMap || v instanceof WeakSet) refuse(`a ${v.constructor.name}`);
    const made = note(Array.isArray(v) ? new Array(v.length) : {});
    for (const key of Object.keys(v)) made[key] = copy(v[key]);
    return made;
  };
  return copy(value);
}

function later(run, wait, every, values) {
  if (typeof run !== "function") throw new TypeError("a timer needs a function");
  anchorRuntime.sleep; // jsbuild looks for this name: only scripts with timers import the function that waits
  return anchorRuntime.timer(() => run(...values), Math.max(0, Number(wait) || 0), every ? Math.max(0, Number(wait) || 0) : -1);
}
export const setTimeout = (run, wait, ...values) => later(run, wait, false, values);
export const setInterval = (run, wait, ...values) => later(run, wait, true, values);
export const setImmediate = (run, ...values) => later(run, 0, false, values);
export const clearTimeout = (id) => { anchorRuntime.stop(id); };
export const clearInterval = clearTimeout;
export const clearImmediate = clearTimeout;

export const crypto = {
  getRandomValues(view) {
    new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(new Uint8Array(anchorRuntime.random(view.byteLength)));
    return view;
  },
  randomUUID() {
    const bytes = this.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  },
};

// What a part of a URL may hold as it is, besides letters and digits. encodeURI writes the rest as UTF-8.
const escapeIn = (text, signs) => text.toWellFormed().replace(/[^]/gu, (c) => (signs.includes(c) || /[\x21-\x7e]/.test(c) && !/["#<>?`{}^|\\/:;=@[\]'$&+,%]/.test(c) ? c : percent(c)));
const percent = (c) => (c.codePointAt(0) < 0x80 ? "%" + c.codePointAt(0).toString(16).toUpperCase().padStart(2, "0") : encodeURIComponent(c));
const inFragment = "#?{}^|\\/:;=@[]'$&+,%", inQuery = "?{}^|\\/:;=@[]$&+,%`", inPath = "|\\/:;=@[]'$&+,%", inUser = "$&+,%";

export class URLSearchParams {
  #list = [];
  #changed = () => {};
  constructor(init = "", changed) {
    if (changed) this.#changed = changed;
    if (typeof init === "object" && init !== null) {
      const pairs = typeof init[Symbol.iterator] === "function" ? [...init] : Object.entries(init);
      for (const [name, value] of pairs) this.#list.push([String(name), String(value)]);
      return;
    }
    for (const part of String(init).replace(/^\?/, "").split("&")) {
      if (part === "") continue;
      const at = part.indexOf("=");
      this.#list.push(at < 0 ? [plain(part), ""] : [plain(part.slice(0, at)), plain(part.slice(at + 1))]);
    }
  }
  get size() { return this.#list.length; }
  #set(list) { this.#list = list; this.#changed(this.toString()); }
  append(name, value) { this.#set([...this.#list, [String(name), String(value)]]); }
  delete(name, value) { this.#set(this.#list.filter(([n, v]) => n !== String(name) || (value !== undefined && v !== String(value)))); }
  get(name) { return this.#list.find(([n]) => n === String(name))?.[1] ?? null; }
  getAll(name) { return this.#list.filter(([n]) => n === String(name)).map(([, v]) => v); }
  has(name, value) { return this.#list.some(([n, v]) => n === String(name) && (value === undefined || v === String(value))); }
  set(name, value) {
    const at = this.#list.findIndex(([n]) => n === String(name));
    if (at < 0) return this.append(name, value);
    this.#set(this.#list.filter(([n], i) => i <= at || n !== String(name)).map((pair, i) => (i === at ? [pair[0], String(value)] : pair)));
  }
  sort() { this.#set(this.#list.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))); }
  forEach(f, self) { for (const [name, value] of this.#list) f.call(self, value, name, this); }
  *entries() { for (const [name, value] of this.#list) yield [name, value]; }
  *keys() { for (const [name] of this.#list) yield name; }
  *values() { for (const [, value] of this.#list) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.#list.map(([name, value]) => `${form(name)}=${form(value)}`).join("&"); }
}
const form = (text) => encodeURIComponent(text.toWellFormed()).replace(/[!'()~]/g, percent).replaceAll("%20", "+");
// Escapes that are no UTF-8 become signs of replacement, as bytes of a wrong text do.
function plain(text) {
  const spaced = text.replaceAll("+", " ");
  if (!spaced.includes("%")) return spaced;
  const bytes = anchorRuntime.encode(spaced.toWellFormed()), out = [];
  for (let i = 0; i < bytes.length; i++) {
    const hex = bytes[i] === 0x25 ? String.fromCharCode(bytes[i + 1] ?? 0, bytes[i + 2] ?? 0) : "";
    if (/^[0-9a-f]{2}$/i.test(hex)) i += 2;
    out.push(hex && /^[0-9a-f]{2}$/i.test(hex) ? parseInt(hex, 16) : bytes[i]);
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(out));
}

const ports = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };

// An address as browsers read it. Names of hosts must be ASCII: there is no table of other scripts here.
export class URL {
  #p;
  #query;
  constructor(address, base) {
    const from = base === undefined ? null : base instanceof URL ? base : new URL(base);
    this.#p = read(String(address), from);
    this.#query = new URLSearchParams(this.#p.search.slice(1), (text) => { this.#p.search = text ? `?${text}` : ""; });
  }
  static canParse(address, base) { return URL.parse(address, base) !== null; }
  static parse(address, base) {
    try {
      return new URL(address, base);
    } catch {
      return null;
    }
  }
  get href() {
    const { protocol, username, password, hostname, port, pathname, search, hash } = this.#p;
    if (hostname === null) return protocol + (pathname.startsWith("//") ? "/." : "") + pathname + search + hash;
    const user = username || password ? `${username}${password ? `:${password}` : ""}@` : "";
    return `${protocol}//${user}${hostname}${port ? `:${port}` : ""}${pathname}${search}${hash}`;
  }
  set href(address) { this.#take(read(String(address), null)); }
  get origin() { return ports[this.protocol] ? `${this.protocol}//${this.host}` : "null"; }
  get protocol() { return this.#p.protocol; }
  get username() { return this.#p.username; }
  get password() { return this.#p.password; }
  get host() { return this.hostname + (this.port ? `:${this.port}` : ""); }
  get hostname() { return this.#p.hostname ?? ""; }
  get port() { return this.#p.port; }
  get pathname() { return this.#p.pathname; }
  get search() { return this.#p.search === "?" ? "" : this.#p.search; }
  get hash() { return this.#p.hash === "#" ? "" : this.#p.hash; }
  get searchParams() { return this.#query; }
  // A part that does not fit leaves the address as it is.
  #change(change) {
    const copy = { ...this.#p };
    try {
      change(copy);
      this.#p = copy;
    } catch {
      // as it was
    }
  }
  #take(p) {
    this.#p = p;
    this.#query = new URLSearchParams(p.search.slice(1), (text) => { this.#p.search = text ? `?${text}` : ""; });
  }
  set protocol(text) {
    const scheme = /^([a-z][a-z0-9+.-]*):?/i.exec(String(text))?.[1].toLowerCase();
    if (scheme && (`${scheme}:` in ports) === (this.protocol in ports)) this.#change((p) => { p.protocol = `${scheme}:`; p.port = portOf(p.protocol, p.port); });
  }
  set username(text) { if (this.#p.hostname) this.#p.username = escapeIn(String(text), inUser); }
  set password(text) { if (this.#p.hostname) this.#p.password = escapeIn(String(text), inUser); }
  set hostname(text) { if (this.#p.hostname !== null) this.#change((p) => { p.hostname = hostOf(String(text).split(/[/?#:]/)[0], p.protocol); }); }
  set host(text) {
    if (this.#p.hostname === null) return;
    const [, name, port] = /^(\[[^\]]*\]|[^:/?#]*)(?::(\d*))?/.exec(String(text));
    this.#change((p) => { p.hostname = hostOf(name, p.protocol); if (port) p.port = portOf(p.protocol, port); });
  }
  set port(text) { if (this.#p.hostname) this.#change((p) => { p.port = portOf(p.protocol, /^\d*/.exec(String(text))[0]); }); }
  set pathname(text) { if (this.#p.hostname !== null) this.#p.pathname = pathOf(String(text).replace(/^(?![/\\])/, "/"), this.protocol, []); }
  set search(text) {
    const query = String(text).replace(/^\?/, "");
    this.#take({ ...this.#p, search: query ? queryOf(query, this.protocol) : "" });
  }
  set hash(text) {
    const rest = String(text).replace(/^#/, "");
    this.#p.hash = rest ? `#${escapeIn(rest, inFragment)}` : "";
  }
  toString() { return this.href; }
  toJSON() { return this.href; }
}

const invalid = (address) => Object.assign(new TypeError(`Invalid URL: ${address}`), { code: "ERR_INVALID_URL" });
const queryOf = (text, protocol) => `?${escapeIn(text, protocol in ports ? inQuery : `${inQuery}'`)}`;

function portOf(protocol, text) {
  if (text === "") return "";
  if (!/^\d+$/.test(text) || Number(text) > 65535) throw invalid(`port ${text}`);
  return String(Number(text)) === ports[protocol] ? "" : String(Number(text));
}

// The numbers of an IPv4 address, which may be written in other bases and with fewer parts.
function v4(name) {
  const parts = name.replace(/\.$/, "").split(".");
  if (!/^(\d+|0x[0-9a-f]*)$/i.test(parts.at(-1))) return null;
  const numbers = parts.map((part) => {
    if (!/^(0x[0-9a-f]*|0[0-7]*|[1-9]\d*)$/i.test(part)) throw invalid(name);
    return /^0x/i.test(part) ? parseInt(part.slice(2) || "0", 16) : part.length > 1 && part[0] === "0" ? parseInt(part, 8) : Number(part);
  });
  const last = numbers.pop();
  if (numbers.length > 3 || numbers.some((n) => n > 255) || last >= 256 ** (4 - numbers.length)) throw invalid(name);
  const value = numbers.reduce((sum, n, i) => sum + n * 256 ** (3 - i), last);
  return [24, 16, 8, 0].map((bits) => Math.floor(value / 2 ** bits) % 256).join(".");
}

function v6(text) {
  const [before, after, more] = text.split("::");
  const words = (part) => (part ? part.split(":").flatMap((word, i, all) => {
    if (word.includes(".") && i === all.length - 1 && /^\d+(\.\d+){3}$/.test(word)) {
      const [a, b, c, d] = word.split(".").map(Number);
      if (Math.max(a, b, c, d) > 255) throw invalid(text);
      return [a * 256 + b, c * 256 + d];
    }
    if (!/^[0-9a-f]{1,4}$/i.test(word)) throw invalid(text);
    return [parseInt(word, 16)];
  }) : []);
  const head = words(before), tail = words(after ?? "");
  const gap = 8 - head.length - tail.length;
  if (more !== undefined || (after === undefined ? gap !== 0 : gap < 1)) throw invalid(text);
  const all = [...head, ...Array(gap).fill(0), ...tail].map((n) => n.toString(16));
  let best = { at: -1, size: 1 };
  for (let i = 0; i < 8; i++) {
    let size = 0;
    while (all[i + size] === "0") size++;
    if (size > best.size) best = { at: i, size };
  }
  return best.at < 0 ? all.join(":") : `${all.slice(0, best.at).join(":")}::${all.slice(best.at + best.size).join(":")}`;
}

function hostOf(text, protocol) {
  if (text.startsWith("[")) {
    if (!text.endsWith("]")) throw invalid(text);
    return `[${v6(text.slice(1, -1))}]`;
  }
  if (!(protocol in ports)) {
    if (/[\0\t\n\r #/<>?@[\\\]^|]/.test(text)) throw invalid(text);
    return text.replace(/[^\x21-\x7e]/gu, percent);
  }
  let name;
  try {
    name = decodeURIComponent(text).toLowerCase();
  } catch {
    throw invalid(text);
  }
  if (name === "" ? protocol !== "file:" : /[^\x21-\x7e]|[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/.test(name)) throw invalid(text);
  if (protocol === "file:" && name === "localhost") return "";
  return name === "" ? "" : v4(name) ?? name;
}

// The path of an address, without its dots. before are the parts of a base.
function pathOf(text, protocol, before) {
  const parts = (protocol in ports ? text.replaceAll("\\", "/") : text).split("/"), out = [...before];
  if (parts[0] === "" && parts.length > 1) parts.shift();
  parts.forEach((part, i) => {
    const dots = part.replace(/%2e/gi, ".");
    if (dots === "..") out.pop();
    if (dots !== "." && dots !== "..") out.push(escapeIn(part, inPath));
    else if (i === parts.length - 1) out.push("");
  });
  return `/${out.join("/")}`;
}

function read(address, base) {
  const text = address.replace(/^[\0-\x20]+|[\0-\x20]+$/g, "").replace(/[\t\n\r]/g, "");
  const [, main, search, hash] = /^([^?#]*)(\?[^#]*)?(#[^]*)?$/.exec(text);
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(main)?.[0].toLowerCase();
  if (!scheme && !base) throw invalid(address);
  const protocol = scheme ?? base.protocol, special = protocol in ports;
  let rest = scheme ? main.slice(scheme.length) : main;
  if (special) rest = rest.replaceAll("\\", "/");
  const p = { protocol, username: "", password: "", hostname: null, port: "", pathname: "", search: "", hash: hash ? `#${escapeIn(hash.slice(1), inFragment)}` : "" };
  if (search) p.search = queryOf(search.slice(1), protocol);
  const relative = base && (!scheme || (special && scheme === base.protocol && !rest.startsWith("/"))) && !rest.startsWith("//");
  if (relative) {
    if (!base.pathname.startsWith("/") && !(rest === "" && !search && hash)) throw invalid(address);
    Object.assign(p, { username: base.username, password: base.password, hostname: base.href.startsWith(`${protocol}//`) ? base.hostname : null, port: base.port });
    if (rest === "") {
      p.pathname = base.pathname;
      if (!search) p.search = base.search;
    } else {
      p.pathname = pathOf(rest, protocol, rest.startsWith("/") ? [] : base.pathname.split("/").slice(1, -1));
    }
    return p;
  }
  if (!special && !rest.startsWith("//")) {
    p.pathname = rest.startsWith("/") ? pathOf(rest, protocol, []) : rest.replace(/[^\x20-\x7e]/gu, percent);
    return p;
  }
  const [, authority, path] = /^([^/]*)([^]*)$/.exec(protocol === "file:" ? rest.replace(/^\/\/|^(?=\/)/, "") : special ? rest.replace(/^\/+/, "") : rest.slice(2));
  const at = authority.lastIndexOf("@");
  if (at >= 0) {
    const user = authority.slice(0, at), colon = user.indexOf(":");
    p.username = escapeIn(colon < 0 ? user : user.slice(0, colon), inUser);
    p.password = colon < 0 ? "" : escapeIn(user.slice(colon + 1), inUser);
  }
  const [all, name, port] = /^(\[[^\]]*\]|[^:]*)(?::([^]*))?$/.exec(authority.slice(at + 1)) ?? [];
  if (all === undefined || (name === "" && (at >= 0 || port !== undefined))) throw invalid(address);
  p.hostname = hostOf(name, protocol);
  p.port = portOf(protocol, port ?? "");
  p.pathname = path === "" && !special ? "" : pathOf(path || "/", protocol, []);
  return p;
}

// with http: the rest needs the permission to send requests.

export class Headers {
  #all = new Map();
  constructor(init = {}) {
    for (const [name, value] of typeof init[Symbol.iterator] === "function" ? init : Object.entries(init)) this.append(name, value);
  }
  append(name, value) { this.set(name, this.has(name) ? `${this.get(name)}, ${value}` : value); }
  set(name, value) { this.#all.set(String(name).toLowerCase(), String(value).trim()); }
  get(name) { return this.#all.get(String(name).toLowerCase()) ?? null; }
  has(name) { return this.#all.has(String(name).toLowerCase()); }
  delete(name) { this.#all.delete(String(name).toLowerCase()); }
  forEach(f, self) { for (const [name, value] of this) f.call(self, value, name, this); }
  entries() { return [...this.#all].sort(([a], [b]) => (a < b ? -1 : 1))[Symbol.iterator](); }
  keys() { return [...this].map(([name]) => name)[Symbol.iterator](); }
  values() { return [...this].map(([, value]) => value)[Symbol.iterator](); }
  [Symbol.iterator]() { return this.entries(); }
}

// A request of the host, as fetch writes it. The answer is there when the promise is: nothing streams.
export async function fetch(input, { method = "GET", headers = {}, body, timeout } = {}) {
  const sent = Object.fromEntries(new Headers(headers));
  if (body instanceof URLSearchParams) sent["content-type"] ??= "application/x-www-form-urlencoded;charset=UTF-8";
  const content = body === undefined || body === null || body instanceof ArrayBuffer || ArrayBuffer.isView(body) ? body : String(body);
  const [answer] = host.httpBatch([{ url: String(input?.url ?? input), method: String(method).toUpperCase(), headers: sent, body: content, timeout }]);
  if (answer.status === 0) throw new TypeError("fetch failed", { cause: new Error(answer.error || "no answer") });
  return {
    ok: answer.status >= 200 && answer.status < 300, status: answer.status, statusText: "", url: String(input?.url ?? input), redirected: false,
    headers: new Headers(answer.headers), bodyUsed: false,
    async text() { return new TextDecoder().decode(answer.bytes); },
    async json() { return JSON.parse(await this.text()); },
    async bytes() { return answer.bytes; },
    async arrayBuffer() { return answer.bytes.buffer; },
  };
}
