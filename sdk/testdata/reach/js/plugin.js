// Sends requests, stores a value, counts tokens, and reads columns that its manifest does not name.

export function classify(request, settings) {
  const { url } = settings;
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
