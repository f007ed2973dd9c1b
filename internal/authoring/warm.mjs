// Compiles with AssemblyScript's compiler for each line on the standard input, a folder and arguments, and
// writes a line: 0 or 1, and the messages. Parts are encoded as in addresses.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const MAX_OUT = 256 << 10; // the first messages say what is wrong
const loaded = await import(pathToFileURL(process.argv[1]));
const asc = loaded.main ? loaded : loaded.default;

// The answers are the only lines on the standard output.
const answer = process.stdout.write.bind(process.stdout);
process.stdout.write = () => true;

for await (const line of createInterface({ input: process.stdin })) {
  const [dir, ...args] = line.split(" ").map(decodeURIComponent);
  process.chdir(dir);
  const out = [];
  const stream = { write(chunk) { out.push(String(chunk)); return true; } };
  let failed = false;
  try {
    const { error } = await asc.main(args, { stdout: stream, stderr: stream });
    failed = error !== null && error !== undefined;
    if (failed) out.push(String(error.message ?? error), "\n");
  } catch (error) {
    failed = true;
    out.push(String(error.stack ?? error), "\n");
  }
  answer(`${failed ? 1 : 0} ${encodeURIComponent(out.join("").slice(0, MAX_OUT).toWellFormed())}\n`);
}
