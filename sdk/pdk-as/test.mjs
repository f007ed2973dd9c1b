// Compiles plugin.test.ts and runs its tests: node anchor/test.mjs. See test.ts.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";

mkdirSync("build", { recursive: true });
const file = "build/plugin.test.wasm.bin"; // no host takes it for a plugin
const args = ["plugin.test.ts", "--runtime", "incremental", "--use", "abort=anchor/host/abort", "-o", file];
try {
  execFileSync("asc", args, { stdio: "inherit", shell: process.platform === "win32" });
} catch (error) {
  if (error.code === "ENOENT") console.error("asc: not found (run npm install)");
  process.exit(1);
}
const module = new WebAssembly.Module(readFileSync(file));

let passed = 0, wrong = 0;
for (const { name } of WebAssembly.Module.exports(module).filter(({ name }) => name.startsWith("test_"))) {
  try {
    new WebAssembly.Instance(module, host()).exports[name]();
    passed++;
  } catch (error) {
    wrong++;
    console.error(`${name} failed (${error.message})`);
  }
}
console.log(`${passed} passed, ${wrong} failed`);
process.exit(passed === 0 || wrong > 0 ? 1 : 0);

// host stands for the host: blocks of memory, the log, and the answers that a test gives to services.
// What else a plugin asks for is not there.
function host() {
  const bytes = new Uint8Array(4 << 20), view = new DataView(bytes.buffer), lengths = new Map();
  const answers = new Map(); // by service
  let next = 8, error = false, asked = 0n;
  const text = (at) => new TextDecoder().decode(bytes.subarray(Number(at), Number(at) + lengths.get(at)));
  const log = (level) => (at) => console.error(`${level}: ${text(at)}`);
  const service = (name) => (request) => { asked = request; return answers.get(name) ?? 0n; };
  const kernel = {
    alloc(n) {
      const at = BigInt(next);
      lengths.set(at, Number(n));
      next = (next + Number(n) + 7) & ~7;
      return at;
    },
    length: (at) => BigInt(lengths.get(at) ?? 0),
    load_u8: (at) => bytes[Number(at)],
    load_u64: (at) => view.getBigUint64(Number(at), true),
    store_u8: (at, byte) => { bytes[Number(at)] = byte; },
    store_u64: (at, word) => view.setBigUint64(Number(at), BigInt.asUintN(64, word), true),
    error_set: (at) => { error = true; log("error")(at); },
    log_debug: log("debug"), log_info: log("info"), log_warn: log("warn"), log_error: log("error"),
    http_status_code: () => 0, anchor_kv_set: () => 2,
    anchor_embed: service("embed"), anchor_search: service("search"), anchor_llm: service("llm"),
  };
  const imports = new Proxy({}, { get: (_, name) => kernel[name] ?? (() => 0n) });
  const test = {
    failed: () => { const was = error; error = false; return was; },
    mock: (name, document) => { answers.set(text(name), document); },
    asked: () => asked,
  };
  return { "extism:host/env": imports, "extism:host/user": imports, test };
}
