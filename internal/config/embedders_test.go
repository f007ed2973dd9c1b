package config

import (
	"strings"
	"testing"
	"time"
)

const embedding = `embedders:
  local: {static: {table: t.safetensors, tokenizer: tokenizer.json}}
  far: {http: {base_url: "https://h/v1", model: m, key: literal-key, headers: {api-key: "${env:K}"}, rate: 0.5, timeout: 5s, batch_bytes: 1MiB}}
collections: {docs: {embedder: local}, words: {}}
`

func TestEmbedders(t *testing.T) {
	l, err := Parse("a.yaml", []byte(embedding))
	if err != nil {
		t.Fatal(err)
	}
	h := l.Embedders["far"].HTTP
	if h.Rate != 0.5 || h.Timeout != Duration(5*time.Second) || h.BatchBytes != 1<<20 || l.Embedders["local"].Static.Table != "t.safetensors" || l.Collections["docs"].Embedder != "local" {
		t.Errorf("%+v, %+v", h, l.Collections)
	}
	shown := map[string]any{}
	for _, s := range l.Settings() {
		shown[s.Path] = s.Value
	}
	for path, want := range map[string]any{"embedders.far.http.key": hidden, "embedders.far.http.headers.api-key": hidden, "embedders.far.http.model": "m", "embedders.far.http.batch": int64(32)} {
		if shown[path] != want {
			t.Errorf("%s is listed as %#v, want %#v", path, shown[path], want)
		}
	}
	s, err := compileSchema(t)
	if err == nil {
		err = s.Validate(l.node.Any())
	}
	if err != nil {
		t.Error(err)
	}
}

func TestEmbeddersAreChecked(t *testing.T) {
	server := func(s string) string { return "embedders: {e: {http: {model: m, " + s + "}}}" }
	for text, want := range map[string]string{
		"embedders: {e: {}}":                                                  "embedders.e: want static, http or use, one of them",
		"embedders: {e: {static: {table: t}}}":                                `embedders.e.static: missing key "tokenizer"`,
		server("base_url: h"):                                                 "embedders.e.http.base_url: want an address",
		server(`base_url: "http://u:geheim@h"`):                               "embedders.e.http.base_url: the address has a name or password",
		server(`base_url: "http://h#a"`):                                      "embedders.e.http.base_url: the address has a fragment",
		server(`base_url: "http://h", batch: -1`):                             "embedders.e.http.batch: want 1 to 2048, got -1",
		server(`base_url: "http://h", key: "${x}"`):                           "embedders.e.http.key: is no valid reference",
		server(`base_url: "http://h", headers: {Host: x}`):                    "embedders.e.http.headers.Host: anchor-host sets this header itself",
		server(`base_url: "http://h", headers: {"a b": x}`):                   "is no name of a header",
		server(`base_url: "http://h", key: k, headers: {authorization: x}`):   "embedders.e.http.headers.authorization: key and the header Authorization exclude each other",
		strings.Replace(embedding, "words: {}", "more: {embedder: lokal}", 1): `no embedder "lokal" (did you mean "local"?)`,
		embedding + "embedder: lokal":                                         `embedder: no embedder "lokal" (did you mean "local"?)`,
		"collections: {'': {}}":                                               "no collection",
		"pipelines: {p: {embedders: {}}}":                                     "a pipeline has no such key",
	} {
		_, err := Parse("a.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
