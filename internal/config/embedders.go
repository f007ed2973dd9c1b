package config

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Embedder is a model that makes vectors of texts. Exactly one of Use, Static and HTTP is set.
type Embedder struct {
	Use      string          `key:"use" doc:"An embedder in Go, by the name with which a program registers it."`
	Settings map[string]any  `key:"settings" doc:"Settings of use."`
	Static   *StaticEmbedder `key:"static" doc:"A table with one vector for each token. It needs no server. The vector of a text is the mean of those of its tokens."`
	HTTP     *HTTPEmbedder   `key:"http" doc:"A server with the API of OpenAI for embeddings, such as Ollama, llama.cpp, TEI or a vendor."`
}

// BuiltinEmbedder is the name of the embedder that is part of the program.
const BuiltinEmbedder = "builtin"

// NoEmbedder is the word for no embedder.
const NoEmbedder = "none"

// EmbedderOf returns the name of the embedder of a collection, "" for none. stated says that the file names it;
// else it is [BuiltinEmbedder], for collections that are new or have vectors of it.
func (c *Config) EmbedderOf(collection string) (name string, stated bool) {
	switch name = c.Collections[collection].Embedder; name {
	case "":
		return BuiltinEmbedder, false
	case NoEmbedder:
		return "", true
	}
	return name, true
}

// AllEmbedders returns the embedders by name, with that of the program, which has no field.
func (c *Config) AllEmbedders() map[string]Embedder {
	all := maps.Clone(c.Embedders)
	if all == nil {
		all = make(map[string]Embedder, 1)
	}
	all[BuiltinEmbedder] = Embedder{}
	return all
}

// StaticEmbedder is a table with one vector for each token.
type StaticEmbedder struct {
	Table     string `key:"table,required" doc:"Safetensors file with the table, relative to the configuration file: one matrix of F32, F16 or BF16, and optionally a tensor weights with one number for each token."`
	Tokenizer string `key:"tokenizer,required" doc:"The tokenizer.json that the table was made with, in the format of Hugging Face."`
	Tensor    string `key:"tensor" doc:"Name of the matrix in the table. Default: the only matrix."`
}

// HTTPEmbedder is a server with the API of OpenAI for embeddings.
type HTTPEmbedder struct {
	BaseURL        string          `key:"base_url,required" doc:"Address of the API, to which /embeddings is added, such as https://api.openai.com/v1 or http://localhost:11434/v1."`
	Model          string          `key:"model,required" doc:"Name of the model at the server."`
	Key            Text            `key:"key" doc:"Sent as Authorization: Bearer KEY, such as ${env:OPENAI_API_KEY}. ${env:NAME} stands for an environment variable and ${file:PATH} for the content of a file. It is never printed."`
	Headers        map[string]Text `key:"headers" doc:"Further headers, such as {api-key: '${env:AZURE_KEY}'}. Values are as in key, and never printed."`
	Dimensions     int             `key:"dimensions" min:"1" max:"16384" doc:"Asks the model for vectors of this dimension. Default: that of the first answer."`
	QueryPrefix    string          `key:"query_prefix" doc:"Text before each question, if the model expects one, such as \"query: \"."`
	DocumentPrefix string          `key:"document_prefix" doc:"Text before each text of a document, if the model expects one, such as \"passage: \"."`
	Batch          int             `key:"batch" min:"1" max:"2048" default:"32" doc:"The maximum number of texts in one request."`
	BatchBytes     Size            `key:"batch_bytes" default:"256KiB" doc:"The maximum size of the texts in one request. A longer text is sent alone."`
	Concurrency    int             `key:"concurrency" min:"1" max:"256" default:"4" doc:"How many requests run at the same time."`
	Rate           float64         `key:"rate" min:"0.001" max:"100000" doc:"The maximum number of requests in one second, such as 0.5. Default: no limit."`
	Timeout        Duration        `key:"timeout" default:"30s" doc:"Time limit of one request. A server that asks to wait for longer than this, and than a minute, is not waited for."`
	Retries        *int            `key:"retries" min:"0" max:"20" default:"4" doc:"How often a request is repeated if the server is busy, fails or does not answer. The first pause is half a second, each further one twice as long, or as long as the server asks for, at most one minute."`
	Encoding       string          `key:"encoding" enum:"float,base64" doc:"Asks the server for vectors in this form: base64 has a third of the size. Default: the server decides. Both are understood in any case."`
}

// Collection has the settings of a collection.
type Collection struct {
	Shared           Readers       `key:"shared" doc:"Who may read the collection beside its owner: true for all tenants, or a list of tenants. Their builds, searches and plugins then read the collection of the owner by this name, never one of their own. Only the owner writes to it."`
	Owner            string        `key:"owner" doc:"The tenant that owns the shared collection. Default: the tenant that the file names."`
	Embedder         string        `key:"embedder" doc:"Name of an entry of embedders, which makes the vectors of its documents and questions, builtin, a table of vectors in the program that needs no file and no server, or none: documents are found by their words. Default: builtin, but collections that were filled without vectors stay so."`
	Context          *Plain        `key:"context" doc:"A plugin that says where each chunk stands in its document (operation process), such as contextual-chunks. Ingestion calls it for each new or changed document with the chunks as items. What it writes into their metadata as context is searched with the chunk, and not shown. timeout bounds one call."`
	ContextBudget    ContextBudget `key:"context_budget" doc:"What context may ask of models in one run of ingest. It is in the place of max_calls_per_build, max_tokens_per_build and the budgets of grants. When it is spent, the run ends and says so, and the next run goes on from there."`
	Stem             *bool         `key:"stem" doc:"Finds English words in their other forms too: flags for flag. Say false for texts in other languages. It is fixed when the collection is made. Default: true."`
	StopWords        string        `key:"stop_words" enum:"lucene,english,none" doc:"Words that are not searched: lucene is 33 English words such as the and of, english is more of them, none is for texts in other languages. It is fixed when the collection is made. Default: lucene."`
	SplitIdentifiers *bool         `key:"split_identifiers" doc:"Finds names such as ParseDuration by their parts too. It is fixed when the collection is made. Default: true."`
	Vectors          string        `key:"vectors" enum:"f32,int8" doc:"How vectors are stored: f32 exactly, int8 rounded, with a quarter of the size and faster searches. It is fixed when the collection is made. Default: f32."`
}

// Settings are those of the collection when it is made, without its model. What the configuration
// leaves out is empty.
func (c *Collection) Settings() retrieve.Settings {
	return retrieve.Settings{Stem: c.Stem, StopWords: c.StopWords, SplitIdentifiers: c.SplitIdentifiers, Vectors: retrieve.VectorForm(c.Vectors)}
}

// ContextBudget bounds what the contexts of a collection ask of models in one run.
type ContextBudget struct {
	MaxCalls  int `key:"max_calls" min:"1" default:"1000" doc:"The maximum number of requests to each model."`
	MaxTokens int `key:"tokens" min:"1" doc:"The maximum number of tokens of these requests and their answers. Until the server has counted, four bytes of a request count as a token, and an answer as its maximum. Default: no limit."`
}

// Readers are the tenants that may read a collection of another tenant: some, or the word [everyone].
type Readers []string

// everyone stands for all tenants. No tenant has this name in a list, because the file refuses it.
const everyone = "*"

// UnmarshalNode decodes true, false or a list of tenants.
func (r *Readers) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	switch n.Kind {
	case strict.Bool:
		var on bool
		if d.Into(n, &on, path) && on {
			*r = Readers{everyone}
		}
	case strict.List:
		d.Value(n, reflect.ValueOf((*[]string)(r)).Elem(), path)
		if slices.Contains(*r, everyone) {
			d.Fail(n, path, "* is no tenant (say shared: true for all tenants)")
		}
	default:
		d.Fail(n, path, "want true, or a list of tenants")
	}
}

// JSONSchema describes both forms.
func (Readers) JSONSchema() map[string]any {
	return map[string]any{"oneOf": []any{map[string]any{"type": "boolean"}, strict.Schema(reflect.TypeFor[[]string]())}}
}

// String returns true, or the tenants with commas. It is empty if there are none.
func (r Readers) String() string {
	if slices.Contains(r, everyone) {
		return "true"
	}
	return strings.Join(r, ", ")
}

// OwnerOf returns the tenant to which a collection of a tenant belongs: the owner of the shared collection
// of that name if the tenant may read it, otherwise the tenant itself. Everything that reads or writes
// collections decides by it.
func (c *Config) OwnerOf(tenant, collection string) string {
	of := c.Collections[collection]
	if !slices.Contains(of.Shared, everyone) && !slices.Contains(of.Shared, tenant) {
		return tenant
	}
	return cmp.Or(of.Owner, c.TenantName())
}

// ownShared states the owners that the file leaves out. An override of the tenant, such as --tenant, must
// not change who owns what.
func (c *Config) ownShared() {
	for name, of := range c.Collections {
		if len(of.Shared) > 0 && of.Owner == "" {
			of.Owner = c.TenantName()
			c.Collections[name] = of
		}
	}
}
