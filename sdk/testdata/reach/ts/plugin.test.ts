// What services answer in tests without a host.

import { asked, mock, mockVectors } from "./anchor/test";
import { embed, llm, LlmRequest, llmBatch, search, Search } from "./anchor/index";

function same(got: string, want: string): void { assert(got == want, "\n  want " + want + "\n  got  " + got); }

export function test_vectors_are_those_of_the_texts(): void {
  mockVectors(2, [1, 0.5, -0.25, 0]);
  const v = embed(['a "b"', ""], "query");
  same(asked(), '{"side":"query","texts":["a \\"b\\"",""]}');
  same(v.error + v.model + v.at(1)[0].toString() + " " + v.at(0)[1].toString() + " " + v.values.length.toString(), "test-0.25 0.5 4");
  for (let d = 0; d < 5; d++) {
    mockVectors(d, [1, 0.5, -0.25]);
    same(embed(["a"]).error, d == 3 ? "" : "invalid");
  }
}

export function test_a_search_says_what_it_says(): void {
  mock("search", '{"hits":[{"document":"d","chunk":3,"score":0.5,"headings":["h","i"],"metadata":{"k":"v"}},{}]}');
  const q = new Search("q").where("path", "prefix", ["a/", "b"]);
  const f = new Float32Array(1);
  f[0] = 0.5;
  q.vector = f;
  q.k = 2;
  const hits = search(q);
  assert(asked().startsWith('{"text":"q","vector":') && asked().endsWith(',"dimension":1,"k":2,"filter":[{"field":"path","op":"prefix","values":["a/","b"]}]}'), asked());
  const h = hits.list[0];
  same(hits.ok.toString() + h.document + h.chunk.toString() + h.score.toString() + h.headings.join("/") + h.metadata.get("k").text() + hits.list[1].page.toString(), "trued30.5h/iv0");
}

export function test_one_answer_of_several_may_fail(): void {
  mock("llm", '{"responses":[{"text":"{}","json":{"n":1},"output_tokens":4,"finish":"stop"},{"error":"budget","message":"spent"},{"error":"some day"}]}');
  const one = new LlmRequest().system("s").user("u\n");
  one.schema = '{"type":"object"}';
  one.temperature = 0;
  const other = new LlmRequest();
  other.model = "m";
  other.maxTokens = 7;
  const a = llmBatch([one, other, one, one]);
  const written = '{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u\\u000a"}],"schema":{"type":"object"},"temperature":0.0}';
  same(asked(), '{"requests":[' + written + ',{"messages":[],"model":"m","max_tokens":7},' + written + "," + written + "]}");
  same(a[0].json.get("n").integer().toString() + a[0].outputTokens.toString() + a[0].finish + a[1].error + a[1].message + a[2].error + a[3].error, "14stopbudgetspentunavailableinvalid");
}

export function test_no_answer_is_an_error_and_an_empty_one_is_not(): void {
  same(search(new Search("q")).error, "invalid");
  mock("search", "{}");
  same(search(new Search("q")).error, "");
  mock("embed", "{}");
  same(embed([]).error + embed(["a"]).error, "invalid");
  mock("llm", '{"responses":[]}');
  same(llm(new LlmRequest()).error, "invalid");
}
