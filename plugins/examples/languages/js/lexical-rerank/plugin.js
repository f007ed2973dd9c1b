// Rates items by the words of the query that they contain.

const maxTerms = 32;

export function rerank(request) {
  const items = request.items;
  const terms = [...new Set(words(request.query.query_str))].slice(0, maxTerms);
  const index = new Map(terms.map((term, t) => [term, t]));
  const counts = items.map((item) => count(words(item.content ?? ""), index));
  const total = counts.reduce((sum, c) => sum + c.length, 0);
  if (terms.length === 0 || total === 0) return; // no change

  const weights = terms.map((_, t) => {
    const holding = counts.filter((c) => c.of[t] > 0).length;
    return 1 - holding / (items.length + 1);
  });
  const sum = weights.reduce((a, b) => a + b, 0);
  const average = total / items.length;
  const scores = counts.map((c, row) => {
    const norm = 1.2 * (0.25 + 0.75 * c.length / average);
    const score = weights.reduce((s, w, t) => s + w * c.of[t] / (c.of[t] + norm), 0);
    return { row, score: score / sum };
  });
  return { scores };
}

// A word is letters and digits of ASCII, and all characters beyond ASCII. Letters
// of ASCII are lowered: toLowerCase of the whole text would change others too.
function words(text) {
  const lower = text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  return lower.match(/[a-z0-9\u0080-\uffff]+/g) ?? [];
}

// How often each term occurs among the words, and how many words there are.
function count(list, index) {
  const of = new Array(index.size).fill(0);
  for (const word of list) {
    const t = index.get(word);
    if (t !== undefined) of[t]++;
  }
  return { of, length: list.length };
}
