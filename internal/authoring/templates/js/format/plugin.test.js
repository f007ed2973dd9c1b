import assert from "node:assert";
import test from "node:test";
import { format } from "./plugin.js";

test("formats the window", () => {
  const reply = format({ items: [{ source: "memory", content: "likes Go" }] }, { title: "Notes" });
  assert.equal(reply.output, "# Notes\n\n## memory\n\nlikes Go\n");
});
