// Runs inside the plugin, before plugin.js: the globals it may use, and the way
// calls of the host reach its functions.
(function () {
  "use strict";
  const { anchorLog: write, anchorConfig: get } = globalThis;
  delete globalThis.anchorLog;
  delete globalThis.anchorConfig;

  const show = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return value.stack ? `${value}\n${value.stack}` : String(value);
    try {
      return JSON.stringify(value) ?? String(value);
    } catch {
      return String(value);
    }
  };
  const log = (level) => (...values) => { write(level, values.map(show).join(" ").toWellFormed()); };

  // console.log and its siblings write to the host's log.
  globalThis.console = { debug: log(0), log: log(1), info: log(1), warn: log(2), error: log(3) };

  // config(key) is the value that the operator configured, or null.
  globalThis.config = (key) => get(String(key).toWellFormed());

  let handlers;
  globalThis.anchorRegister = (functions) => {
    delete globalThis.anchorRegister;
    handlers = functions;
  };

  // JSON.stringify writes half a character as an escape, which hosts refuse. It becomes what
  // toWellFormed makes of it. Every other escape is matched as a whole and stays.
  const wellFormed = (json) => !json?.includes("\\ud") ? json :
    json.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|[^])/g, (escape, half) => (half ? "\ufffd" : escape));

  const silent = new Set(["init", "observe"]); // they have no answer

  // Returns "=" and the answer, "!" and an error, "." for done without an answer,
  // or "" for no change.
  return (operation, input) => {
    try {
      const request = JSON.parse(input);
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
