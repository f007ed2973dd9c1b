// Programs that compute in JavaScript, in an engine that interprets it. They answer a
// checksum of eight characters.
const answer = x => (x >>> 0).toString(16).padStart(8, '0');

let seed = 1;
const next = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0);

const fib = n => (n < 2 ? n : fib(n - 1) + fib(n - 2));

globalThis.recursion = () => answer(fib(18));

globalThis.sort = () => {
  seed = 7;
  const xs = Array.from({ length: 3000 }, next).sort((a, b) => a - b);
  return answer(xs.reduce((sum, x) => (Math.imul(sum, 31) + x) >>> 0, 0));
};

globalThis.json = () => {
  const docs = Array.from({ length: 200 }, (_, i) => ({ id: `doc-${i}`, score: i / 7, meta: { path: 'a/b', tags: ['x', 'y'] } }));
  const again = JSON.parse(JSON.stringify(docs));
  return answer(again.reduce((sum, d) => sum + d.id.length + Math.floor(d.score), 0));
};

globalThis.regex = () => {
  let text = '';
  for (let i = 0; i < 300; i++) text += `line ${i} of doc-${i % 50}, seen in part-${i % 7}\n`;
  return answer(text.replace(/\b([a-z]+)-(\d{1,3})\b/g, '$2:$1').length + text.split(/\s+/).length);
};
