// Uses everything that the host offers, and reads columns that its manifest does not name.

export function classify(request, settings) {
  const { url } = settings;
  if (!url) return { label: served(request.query.query_str) };
  const bytes = new Uint8Array([0, 0xff, 0x7a]);
  const one = host.http({ url: `${url}/echo`, method: "POST", headers: { "X-Word": "wörd" }, body: bytes });
  if (one.bytes.length !== 3 || one.bytes[0] !== 0 || one.bytes[1] !== 0xff) throw new Error(`bytes ${one.bytes}`);
  const late = host.http({ url: `${url}/never`, timeout: 50 });
  const [first, second] = host.httpBatch([{ url: `${url}/echo`, method: "POST", body: '{"n":1}', timeout: 60000 }, { url: `${url}/never`, timeout: 50 }]);
  if (host.kvGet("k") !== null || !host.kvSet("k", "stored")) throw new Error("kv");
  const stored = host.kvGet("k");
  host.kvDelete("k");
  return {
    label: `${one.status} ${one.headers["x-word"]} ${late.status} ${first.status} ${first.json().n} ${second.status} ${second.error} ${stored} ${host.countTokens(request.query.query_str)}`,
  };
}

export function filter(request) {
  const keep = [];
  request.items.forEach((item, row) => {
    if (!item.metadata?.drop && item.source !== "tool" && !item.embedding && item.content) keep.push(row);
  });
  return { keep };
}

const wordOf = (f) => {
  try {
    return f() && "";
  } catch (error) {
    return error.word === "not_found" ? error.message : String(error);
  }
};

// Labels a question by what the services answer.
function served(question) {
  if (host.embed([]).vectors.length !== 0) throw new Error("vectors of no texts");
  const { model, dimension, vectors } = host.embed([question, ""], "query");
  const hits = host.search({ collection: "docs", text: question, vector: vectors[0], by: "hybrid", k: 2, filter: [{ field: "path", op: "prefix", values: ["a/", 'b"'] }] });
  const h = hits[0];
  const strict = {
    model: "small", schema: { type: "object", properties: { n: { type: "number" } } }, max_tokens: 50, temperature: 0,
    messages: [{ role: "system", content: "Be brief.\n" }, { role: "user", content: question }, { role: "assistant", content: "" }],
  };
  const [one, spent] = host.llmBatch([strict, { messages: [{ role: "user", content: "spend" }] }]);
  const { max_tokens, temperature, ...warm } = strict;
  return [
    model, dimension, 4 * vectors[0][0], 4 * vectors[1][1],
    h.text, h.document, h.title, h.path, h.chunk, 4 * h.score, h.page, h.line_from, h.line_to, ...h.headings, h.metadata.k,
    hits[1].document, hits[1].page ?? 0, wordOf(() => host.search({ collection: "gone", text: question })), host.search({ text: question }).length,
    one.json.n, one.model, one.finish, one.input_tokens, one.output_tokens, spent.error === "budget" ? spent.message : "",
    host.llm({ messages: [{ role: "user", content: question }] }).text, host.llm(warm).text,
  ].join(" ") + " ";
}

// Rates items by their vectors.
export function rerank({ query, items }) {
  const rated = (v) => v.reduce((sum, f, i) => sum + f * query.embedding[i], 0);
  return { scores: items.map(({ embedding }, row) => ({ row, score: embedding ? rated(embedding) : 0.25 })) };
}
