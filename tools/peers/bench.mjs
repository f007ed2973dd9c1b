// Measures six RunnableLambdas that do nothing in a RunnableSequence, over 50 documents of
// 1 KB. For each line of input, the milliseconds that a round is to take, it writes a
// line of JSON with the runs, and the microseconds and processor microseconds of all.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Document } from "@langchain/core/documents";
import { RunnableLambda, RunnableSequence } from "@langchain/core/runnables";

const size = 1024;
const docs = Array.from({ length: 50 }, (_, i) => new Document({
  id: `doc-${i}`,
  pageContent: `document ${i}: `.padEnd(size, "the window of a model holds what retrieval found "),
  metadata: { path: "a/b/c" },
}));
const chain = RunnableSequence.from(Array.from({ length: 6 }, () => RunnableLambda.from((docs) => docs)));

async function run() {
  const out = await chain.invoke(docs);
  if (out.length !== docs.length) throw new Error(`${out.length} documents, want ${docs.length}`);
}

// The first runs are interpreted; they are not measured.
for (let i = 0; i < 3000; i++) await run();

const { version } = JSON.parse(readFileSync(new URL("node_modules/@langchain/core/package.json", import.meta.url), "utf8"));
console.log(JSON.stringify({ version }));

for await (const line of createInterface({ input: process.stdin })) {
  const ms = Number(line);
  if (!(ms > 0)) throw new Error(`milliseconds ${JSON.stringify(line)}: want a number above 0`);
  const cpu = process.cpuUsage(), began = performance.now();
  let runs = 0, took = 0;
  while (took < ms) {
    for (let i = 0; i < 10; i++, runs++) await run();
    took = performance.now() - began;
  }
  const { user, system } = process.cpuUsage(cpu);
  console.log(JSON.stringify({ runs, took: took * 1000, cpu: user + system }));
}
