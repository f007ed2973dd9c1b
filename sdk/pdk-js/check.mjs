// Runs the top level of a script without the engine: node check.mjs runtime.js script.js
// A call of the host ends the check: what it answers is not known before the plugin runs.
import fs from "node:fs";
import vm from "node:vm";

const [runtime, script] = process.argv.slice(2).map((file) => fs.readFileSync(file, "utf8"));
const called = Symbol("the host was called");
const context = vm.createContext(Object.create(null));
const bytes = new Map();
for (const letter of "CRSHMGPKEFNZ") context[`anchor${letter}`] = () => { throw called; };
Object.assign(context, {
  anchorL() {}, anchorO() {},
  anchorB(value) { bytes.set(bytes.size + 1, Buffer.from(value)); return bytes.size; },
  anchorT: (handle) => bytes.get(handle).toString(),
  anchorA: (handle) => Uint8Array.from(bytes.get(handle)).buffer,
  anchorJ() {}, anchorU() {}, anchorY: (size) => new ArrayBuffer(size), performance,
});
const options = (filename) => ({ filename, timeout: 5_000 });
try {
  vm.runInContext("delete globalThis.Intl; delete globalThis.WebAssembly;", context); // the engine has none
  vm.runInContext(runtime, context, options("runtime.js"));
  vm.runInContext(script, context, options("plugin.js"));
} catch (error) {
  if (error !== called && !String(error).includes("Symbol(the host was called)")) {
    console.error(error?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT" ? "it is not done within 5 seconds" : error?.name === "SyntaxError" ? String(error.stack) : String(error?.message ?? error));
    process.exit(1);
  }
}
process.exit(0);
