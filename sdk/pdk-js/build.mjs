// Makes one WebAssembly module of plugin.js, with the JavaScript engine QuickJS inside:
//
//     node build.mjs plugin.js -o plugin.wasm
//
// It needs Node.js 18 or newer and the npm packages quickjs-wasi and binaryen, in
// node_modules of the plugin's folder or one above it, in the folder that
// ANCHOR_NODE_MODULES names, or beside the wasm-merge in PATH.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import vm from "node:vm";

const operations = [
  "init", "retrieve", "process", "filter", "rerank", "transform_query", "classify", "enrich_query",
  "memory", "compact", "distill", "extract", "provide", "estimate_tokens", "format", "count_tokens", "observe",
];

const boot = "anchor_boot";
const initialize = "_initialize";

// Named one by one: --all-features makes Binaryen write imports that engines refuse.
const features = [
  "bulk-memory", "bulk-memory-opt", "sign-ext", "nontrapping-float-to-int", "mutable-globals", "reference-types", "multivalue",
].map((name) => `--enable-${name}`);

// What runtime.js calls, each by the letter of its global anchorX. Functions of the host take
// and return handles of blocks as numbers, and are imported only if the plugin uses them.
const builtin = {
  L: "(call $log (local.get $arguments))",
  C: "(call $config (local.get $arguments))",
  B: "(call $number (call $value_block (i32.load (local.get $arguments))))",
  T: "(call $from_block (call $handle (local.get $arguments)) (i32.const 0))",
  A: "(call $from_block (call $handle (local.get $arguments)) (i32.const 1))",
};
const imported = {
  R: ["extism:host/env", "http_request", "i64 i64", "i64"],
  S: ["extism:host/env", "http_status_code", "", "i32"],
  H: ["extism:host/env", "http_headers", "", "i64"],
  M: ["extism:host/user", "anchor_http_batch", "i64", "i64"],
  G: ["extism:host/user", "anchor_kv_get", "i64", "i64"],
  P: ["extism:host/user", "anchor_kv_set", "i64 i64", "i32"],
  K: ["extism:host/user", "anchor_count_tokens", "i64", "i64"],
  E: ["extism:host/user", "anchor_embed", "i64", "i64"],
  F: ["extism:host/user", "anchor_search", "i64", "i64"],
  N: ["extism:host/user", "anchor_llm", "i64", "i64"],
};

// The functions of the global host, and what they call.
const services = {
  http: "RSH", httpBatch: "M", kvGet: "G", kvGetBytes: "G", kvSet: "P", kvDelete: "P", countTokens: "K",
  embed: "E", search: "F", llm: "N", llmBatch: "N",
};

// What stands in the data of glue.wat for the script and for its size.
const scriptMark = "anchor: the script of the plugin";
const sizeMark = "anch";

// The section of a module that has its data.
const dataSection = 11;

// How many merged engines are kept.
const mostKept = 16;

class BuildError extends Error {}

try {
  build(...parseArguments(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

function parseArguments(args) {
  const [source, flag, out] = args;
  if (args.length !== 3 || flag !== "-o") throw new BuildError("usage: node build.mjs plugin.js -o plugin.wasm");
  return [source, out];
}

function build(source, out) {
  const plugin = script(source);
  const packages = findPackages(path.dirname(path.resolve(source)));
  const wat = glue(plugin);
  const engine = fs.readFileSync(path.join(packages, "quickjs-wasi", "quickjs.wasm"));
  fs.writeFileSync(out, filled(shell(packages, wat, engine, plugin.operations), plugin.text));
}

// The module without the script. Merging and shrinking the engine takes seconds, and its result
// depends on the script only by the names of operations and services, so it is kept.
function shell(packages, wat, engine, names) {
  const { version } = JSON.parse(fs.readFileSync(path.join(packages, "binaryen", "package.json"), "utf8"));
  const key = sha256(sha256(fs.readFileSync(fileURLToPath(import.meta.url))), sha256(Buffer.from(wat)), sha256(engine), version).toString("hex");
  const cache = path.join(packages, ".cache", "anchor-host");
  const kept = path.join(cache, key);
  const found = readKept(kept);
  if (found) return found;
  const made = merge(packages, wat, names);
  keep(cache, kept, made);
  return made;
}

function sha256(...parts) {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

// A kept file is a module after its SHA-256, which tells one that was cut short.
function readKept(file) {
  let bytes;
  try {
    bytes = fs.readFileSync(file);
  } catch {
    return null;
  }
  const wasm = bytes.subarray(32);
  return sha256(wasm).equals(bytes.subarray(0, 32)) ? wasm : null;
}

// Keeps a module, and of all that are kept the newest. A folder that cannot be written keeps none.
function keep(cache, file, wasm) {
  try {
    fs.mkdirSync(cache, { recursive: true });
    const fresh = `${file}.${process.pid}`;
    fs.writeFileSync(fresh, Buffer.concat([sha256(wasm), wasm]));
    fs.renameSync(fresh, file);
    const age = (name) => -fs.statSync(path.join(cache, name)).mtimeMs;
    const names = fs.readdirSync(cache).map((name) => [age(name), name]).sort(([a], [b]) => a - b);
    for (const [, name] of names.slice(mostKept)) fs.rmSync(path.join(cache, name), { force: true });
  } catch {
    // the next build merges again
  }
}

function merge(packages, wat, names) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "anchor-js-"));
  try {
    const at = (name) => path.join(folder, name);
    fs.writeFileSync(at("glue.wat"), wat);
    const binaryen = (tool, ...args) =>
      execFileSync(process.execPath, [path.join(packages, "binaryen", "bin", tool), ...features, ...args], { stdio: ["ignore", "ignore", "inherit"] });
    const engine = path.join(packages, "quickjs-wasi", "quickjs.wasm");
    // Each module's exports serve the imports that the other has from its name.
    binaryen("wasm-merge", at("glue.wat"), "env", engine, "qjs", "--skip-export-conflicts", "-o", at("merged.wasm"));
    const roots = ["memory", boot, "anchor_abi_1", ...names.map((name) => `anchor_${name}`)];
    fs.writeFileSync(at("kept.json"), JSON.stringify(roots.map((name) => ({ name, root: true, export: name }))));
    binaryen("wasm-metadce", at("merged.wasm"), "--graph-file", at("kept.json"), "-o", at("plugin.wasm"), "-Oz");
    return renamed(fs.readFileSync(at("plugin.wasm")));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

// Puts a script into the data of a shell.
function filled(wasm, text) {
  const bytes = Buffer.from(`${text}\0`);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(bytes.length);
  for (let at = 8; at < wasm.length;) {
    const [length, start] = unsigned(wasm, at + 1);
    if (wasm[at] === dataSection) {
      // The script comes last: it may hold any bytes, those of a mark too.
      const data = replaced(replaced(wasm.subarray(start, start + length), sizeMark, size), scriptMark, bytes);
      return Buffer.concat([wasm.subarray(0, at + 1), leb128(data.length), data, wasm.subarray(start + length)]);
    }
    at = start + length;
  }
  throw new Error("the merged module has no data");
}

// Replaces a passive segment of a data section, which consists of a text. A segment is 1, its
// size and its bytes.
function replaced(data, text, bytes) {
  const old = Buffer.concat([Buffer.from([1]), leb128(text.length), Buffer.from(text)]);
  const at = data.indexOf(old);
  if (at < 0 || data.indexOf(old, at + 1) >= 0) throw new Error(`the merged module has not one data segment ${JSON.stringify(text)}`);
  return Buffer.concat([data.subarray(0, at), Buffer.from([1]), leb128(bytes.length), bytes, data.subarray(at + old.length)]);
}

// Reads a number in LEB128, and returns it with the place behind it.
function unsigned(bytes, at) {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return [value, at];
  }
}

function leb128(value) {
  const bytes = [];
  for (; value > 0x7f; value = Math.floor(value / 128)) bytes.push(0x80 | (value & 0x7f));
  return Buffer.from([...bytes, value]);
}

// Gives the export of glue.wat that boots the engine the name that hosts call. It
// is as long, and exports come before code and data, so the first match is it.
function renamed(wasm) {
  wasm.write(initialize, wasm.indexOf(boot), "latin1");
  return wasm;
}

// Reads plugin.js: a script of one file whose exported functions are the operations.
// It becomes the body of a function, on the lines it was written on.
function script(file) {
  let text;
  try {
    text = fs.readFileSync(file, "utf8");
  } catch (error) {
    throw new BuildError(`${file}: cannot be read: ${error.code}`);
  }
  if (/^\s*import\s*[\w{*"']/m.test(text)) throw new BuildError(`${file}: imports another file (put all into one, by hand or with a bundler)`);
  const exported = [];
  text = text.replace(/^export\s+(?=(?:async\s+)?(?:function|const|let|class)\b\s*\*?\s*([\w$]+))/gm, (_, name) => {
    exported.push(name);
    return "";
  });
  const found = operations.filter((name) => exported.includes(name));
  if (found.length === 0) {
    throw new BuildError(`${file}: exports ${exported.join(", ") || "nothing"}, which is no operation (write: export function filter(request, settings) { … }; there are ${operations.join(", ")})`);
  }
  const used = new Set([...text.matchAll(/\bhost\s*\.\s*(\w+)/g)].map((match) => match[1]));
  for (const name of used) {
    if (!(name in services) && /^(http|kv|count|embed|search|llm)/.test(name)) {
      throw new BuildError(`${file}: host.${name} does not exist (there are ${Object.keys(services).map((s) => `host.${s}`).join(", ")})`);
    }
  }
  const letters = new Set(Object.keys(services).filter((name) => used.has(name)).flatMap((name) => [...services[name]]));
  text = `anchorRegister((function(){"use strict";${text}\nreturn {${found}}})());`;
  try {
    new vm.Script(text, { filename: file });
  } catch (error) {
    throw new BuildError(error.stack.split("\n").slice(0, 5).join("\n"));
  }
  return { text, operations: found, letters: [...letters].join("") };
}

// The folder that has the packages.
function findPackages(folder) {
  const candidates = [];
  for (let dir = folder; ; dir = path.dirname(dir)) {
    candidates.push(path.join(dir, "node_modules"));
    if (dir === path.dirname(dir)) break;
  }
  if (process.env.ANCHOR_NODE_MODULES) candidates.push(process.env.ANCHOR_NODE_MODULES);
  for (const dir of (process.env.PATH ?? "").split(path.delimiter)) {
    const tool = path.join(dir, "wasm-merge");
    if (dir && fs.existsSync(tool)) candidates.push(path.resolve(fs.realpathSync(tool), "../../.."));
  }
  const found = candidates.find((dir) =>
    fs.existsSync(path.join(dir, "quickjs-wasi", "quickjs.wasm")) && fs.existsSync(path.join(dir, "binaryen", "bin", "wasm-merge")));
  if (!found) throw new BuildError("the packages quickjs-wasi and binaryen are missing (run: npm install --save-exact quickjs-wasi@3.6.2 binaryen@132.0.0)");
  return found;
}

// The shell around the engine, in WebAssembly text.
function glue(plugin) {
  const here = path.dirname(fileURLToPath(import.meta.url));
  const runtime = fs.readFileSync(path.join(here, "runtime.js"), "utf8");
  let at = 0;
  const exports = plugin.operations.map((name) => {
    const line = `  (func (export "anchor_${name}") (result i32) (call $serve (i32.const ${at}) (i32.const ${name.length})))`;
    at += name.length;
    return line;
  });
  const types = (kind, list) => (list && ` (${kind} ${list})`);
  const imports = [...plugin.letters].map((letter) => {
    const [module, name, params, result] = imported[letter];
    return `  (import "${module}" "${name}" (func $${name}${types("param", params)}${types("result", result)}))`;
  });
  const calls = { ...builtin };
  for (const letter of plugin.letters) {
    const [, name, params, result] = imported[letter];
    const given = params.split(" ").filter(Boolean).map((_, i) => ` (call $handle (i32.add (local.get $arguments) (i32.const ${4 * i})))`);
    const call = `(call $${name}${given.join("")})`;
    calls[letter] = `(call $number ${result === "i64" ? call : `(i64.extend_i32_u ${call})`})`;
  }
  const letters = Object.keys(calls);
  const values = {
    IMPORTS: imports.join("\n"),
    FUNCTIONS: letters.map((letter) => `anchor${letter}\\00`).join(""), NAMES_SIZE: 21 + 8 * letters.length,
    CALLS: letters.map((letter) =>
      `    (if (i32.eq (local.get $letter) (i32.const ${letter.charCodeAt(0)})) (then (return ${calls[letter]})))`).join("\n"),
    RUNTIME: escaped(runtime), RUNTIME_SIZE: Buffer.byteLength(runtime) + 1,
    PLUGIN: scriptMark, SIZE: sizeMark,
    OPERATIONS: plugin.operations.join(""), EXPORTS: exports.join("\n"),
  };
  const text = fs.readFileSync(path.join(here, "glue.wat"), "utf8");
  return text.replace(/@([A-Z_]+)@/g, (_, name) => values[name]);
}

function escaped(text) {
  return [...Buffer.from(text)].map((byte) => "\\" + byte.toString(16).padStart(2, "0")).join("");
}
