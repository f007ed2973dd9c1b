export function init({ settings }) {
  if (settings?.fail) throw settings.fail;
}

export const classify = ({ query }) => ({ label: query.query_str });

export function process(request, settings) {
  switch (settings.do) {
    case "nothing": return null;
    case "fail": throw 'wrong: 😀 "quoted"';
    case "throw": throw new Error("thrown 😀");
    case "row": return request.items[request.items.length].content;
    case "async": return Promise.resolve({});
    case "log":
      console.debug("a debug line");
      console.log("an", "info", "line");
      console.warn("a warning");
      console.error("an error ü");
      throw `${config("region") ?? "none"} ${config("zone") ?? "none"}`;
    case "scores": return { scores: request.items.map(({ score }, row) => ({ row, score: score ?? 0 })) };
    case "copy": return {
      edits: request.items.map(({ metadata }, row) => ({ row, metadata: { ...metadata, more: "than before" } })),
      items: request.items.map(({ created_at }, row) => ({ content: `copy ${row}`, created_at })),
    };
    case "drop": return { keep: request.items.map((_, row) => row).filter((row) => row !== 1) };
  }
  return everything(request, settings);
}

// Shows what it sees of each row as the row's text, and makes every kind of change.
function everything({ query, items, tokens_left }, { list = [] }) {
  const metadata = { z: "last", i: -7, f: 0.1, b: true, n: null, list: [1, { a: "b" }], a: "\ud800" };
  const keep = items.map((_, row) => row).filter((row) => row !== 1);
  const edits = keep.map((row) => {
    const it = items[row], meta = it.metadata ?? {};
    const content = [
      it.id, it.content, it.source, it.priority, it.token_count ?? 0,
      it.created_at ? BigInt(Date.parse(it.created_at)) * 1000000n : "-9223372036854775808", meta.kind ?? "null", typeof meta.page === "number" ? meta.page.toFixed(1) : "-1.0",
      meta.weight ?? "-1.0", meta.fresh ? "fresh" : "stale", query.query_str, query.metadata?.user ?? "nobody",
      (query.chat_history ?? []).length, tokens_left > 0 ? "room" : "full", list.length, list[0]?.["a b"] ?? "",
    ].join("|");
    return { row, content, priority: 9, metadata };
  });
  return {
    keep, edits, scores: keep.map((row) => ({ row, score: 0.25 })),
    items: [
      { key: "key", content: "a new item", source: "retrieval", score: 0.75, priority: 3, metadata: { from: "here" } },
      { content: "another" },
    ],
    order: [items.length + 1, ...keep.toReversed(), items.length],
  };
}
