// Asks for vectors, searches and answers of models, and compares vectors.

import { Changes, DONE, embed, llm, llmBatch, LlmRequest, Request, search, Search } from "./anchor/index";

// Rates items by their vectors.
export function rate(request: Request, changes: Changes): i32 {
  const query = request.queryEmbedding;
  for (let i = 0; i < request.length; i++) {
    const v = request.embedding(i);
    let score: f64 = v === null ? 0.25 : 0;
    if (v !== null) for (let k = 0; k < v.length; k++) score += query[k] * v[k];
    changes.setScore(i, score);
  }
  return DONE;
}

// Labels a question by what the services answer.
export function served(question: string): string {
  const nothing = embed([]);
  const v = embed([question, ""], "query");
  if (!nothing.ok || nothing.values.length || !v.ok) return v.message;
  return [v.model, v.dimension.toString(), (<i32>(<f32>4 * v.at(0)[0])).toString(), (<i32>(<f32>4 * v.at(1)[1])).toString(), found(question, v.at(0))]
    .join(" ") + answers(question);
}

function found(question: string, vector: Float32Array): string {
  const query = new Search(question).where("path", "prefix", ["a/", 'b"']);
  query.collection = "docs";
  query.vector = vector;
  query.by = "hybrid";
  query.k = 2;
  const hits = search(query);
  if (!hits.ok) return hits.message;
  const h = hits.list[0];
  const other = new Search(question);
  other.collection = "gone";
  const gone = search(other);
  return [h.text, h.document, h.title, h.path, h.chunk.toString(), (<i32>(4 * h.score)).toString(), h.page.toString(), h.lineFrom.toString(),
    h.lineTo.toString(), h.headings.join(" "), h.metadata.get("k").text(), hits.list[1].document, hits.list[1].page.toString(),
    gone.error == "not_found" ? gone.message : "", search(new Search(question)).list.length.toString()].join(" ") + " ";
}

function answers(question: string): string {
  const strict = new LlmRequest().system("Be brief.\n").user(question).assistant("");
  strict.model = "small";
  strict.schema = '{"type":"object","properties":{"n":{"type":"number"}}}';
  strict.maxTokens = 50;
  strict.temperature = 0;
  const both = llmBatch([strict, new LlmRequest().user("spend")]);
  const one = both[0];
  const spent = both[1].error == "budget" ? both[1].message : "";
  strict.maxTokens = 0;
  strict.temperature = NaN;
  return [one.json.get("n").integer().toString(), one.model, one.finish, one.inputTokens.toString(), one.outputTokens.toString(), spent,
    llm(new LlmRequest().user(question)).text, llm(strict).text].join(" ") + " ";
}
