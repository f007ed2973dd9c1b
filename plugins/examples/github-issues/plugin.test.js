import assert from "node:assert";
import test from "node:test";
import { search, wordsOf } from "./plugin.js";

test("the words that tell issues apart", () => {
  assert.deepEqual(wordsOf("How do I limit the memory of a plugin?"), ["memory", "plugin", "limit"]);
  assert.deepEqual(wordsOf("как ограничить память"), ["ограничить", "память", "как"]);
  assert.deepEqual(wordsOf("how do I?"), []);
});

const q = (question, settings) => new URLSearchParams(search(wordsOf(question), settings, 500)).get("q");

test("a question cannot leave the repositories", () => {
  assert.equal(q('crash repo:secret/code "x" OR org:other', { repos: ["a/b"] }), "(secret OR crash OR other OR repo OR code OR org) repo:a/b is:issue");
  assert.equal(q("NOT b) OR user:z", { repos: ["a/b", "c/d"] }), "(user OR b OR z) (repo:a/b OR repo:c/d) is:issue");
});

test("a search fits into GitHub's bounds", () => {
  const repos = Array.from({ length: 4 }, (_, i) => `acme/repository-${i}`);
  const long = q("one fine internationalization configuration " + "x".repeat(300), { repos, state: "open" });
  assert.ok(long.startsWith("(internationalization OR configuration"), long);
  assert.ok(long.length <= 256, String(long.length));
  assert.match(search(["a"], { repos }, 500), /per_page=100&/);
});
