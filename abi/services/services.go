// Package services has the documents by which guests ask a host for vectors, searches and the
// answers of models: section 7 of ABI.md.
package services

import "encoding/json"

// The bounds of what guests ask the services embed, search and llm for.
const (
	// MaxDocument is the maximum size of a request document in bytes.
	MaxDocument = 1 << 20
	// MaxEmbedTexts is the maximum number of texts of an [EmbedRequest].
	MaxEmbedTexts = 1024
	// MaxHits is the maximum number of hits that a [SearchRequest] asks for.
	MaxHits = 1000
	// MaxConditions is the maximum number of conditions of a [SearchRequest], and of the values
	// of one condition.
	MaxConditions = 64
	// MaxLLMRequests is the maximum number of requests in [LLMRequests].
	MaxLLMRequests = 32
	// MaxLLMMessages is the maximum number of messages of an [LLMRequest].
	MaxLLMMessages = 1000
)

// Word says in one word why a service has no answer. A guest treats an unknown word as
// Unavailable.
type Word string

// The words.
const (
	// Timeout says that there was no answer in time.
	Timeout Word = "timeout"
	// Unavailable says that the service cannot be reached, or refuses for now.
	Unavailable Word = "unavailable"
	// Refused says that the service refuses this request.
	Refused Word = "refused"
	// Invalid says that the answer is not what was asked for: no JSON, JSON that does not
	// fit the schema, or vectors that are none.
	Invalid Word = "invalid"
	// Budget says that the calls or the tokens of the build are spent.
	Budget Word = "budget"
	// NotFound says that there is no such collection.
	NotFound Word = "not_found"
)

// Words are all words.
var Words = []Word{Timeout, Unavailable, Refused, Invalid, Budget, NotFound}

// Failure is why a service has no answer. Both members are empty if there is an answer.
type Failure struct {
	Error   Word   `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
}

// Side says what a text is for an embedding model. Some models embed questions and passages
// differently.
type Side string

// The sides.
const (
	SideQuery    Side = "query"
	SideDocument Side = "document"
)

// EmbedRequest is the document that a guest passes to anchor_embed.
type EmbedRequest struct {
	// Side is SideDocument if it is empty.
	Side Side `json:"side,omitempty"`
	// Texts are at most MaxEmbedTexts.
	Texts []string `json:"texts"`
}

// EmbedAnswer is the document that anchor_embed returns.
type EmbedAnswer struct {
	// Model names the model. Vectors of different models cannot be compared.
	Model     string `json:"model,omitempty"`
	Dimension int    `json:"dimension,omitempty"`
	// Vectors is the handle of a block with one vector for each text, in the order of the texts:
	// Dimension numbers in 32 bits each, little-endian. 0: there is no text.
	Vectors uint64 `json:"vectors,omitempty"`
	Failure
}

// SearchBy says how a search finds chunks.
type SearchBy string

// The ways to search.
const (
	SearchByWords   SearchBy = "words"
	SearchByVectors SearchBy = "vectors"
	SearchByHybrid  SearchBy = "hybrid"
)

// Condition is a part of the filter of a search. All conditions hold for each hit.
type Condition struct {
	// Field is id, path, title, hash, time, heading, page, line, or a name in the metadata of
	// documents.
	Field string `json:"field"`
	// Op is "=", "!=", "prefix", ">=", "<=", ">" or "<".
	Op string `json:"op"`
	// Values are one or more; those that compare sizes take one.
	Values []string `json:"values"`
}

// SearchRequest is the document that a guest passes to anchor_search. It has a text, a vector or
// both.
type SearchRequest struct {
	// Collection is the first of the grant if it is empty.
	Collection string `json:"collection,omitempty"`
	Text       string `json:"text,omitempty"`
	// Vector is the handle of a block with Dimension numbers in 32 bits each, little-endian.
	// 0: there is none, and the host embeds Text where it needs a vector.
	Vector    uint64 `json:"vector,omitempty"`
	Dimension int    `json:"dimension,omitempty"`
	// By depends on the request and the collection if it is empty.
	By SearchBy `json:"by,omitempty"`
	// K is the maximum number of hits, 10 if it is 0.
	K      int         `json:"k,omitempty"`
	Filter []Condition `json:"filter,omitempty"`
}

// SearchHit is a chunk of a document that was found.
type SearchHit struct {
	Document string `json:"document"`
	// Chunk is the number of the chunk in its document, from 1.
	Chunk int `json:"chunk"`
	// Score is 0 to 1.
	Score float64 `json:"score"`
	Text  string  `json:"text"`
	Title string  `json:"title,omitempty"`
	Path  string  `json:"path,omitempty"`
	// Headings are those above the chunk, the outermost first.
	Headings []string `json:"headings,omitempty"`
	// Page, LineFrom and LineTo count from 1. 0: not known.
	Page     int               `json:"page,omitempty"`
	LineFrom int               `json:"line_from,omitempty"`
	LineTo   int               `json:"line_to,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// SearchAnswer is the document that anchor_search returns. The best hit is the first.
type SearchAnswer struct {
	Hits []SearchHit `json:"hits,omitempty"`
	Failure
}

// LLMRole is who speaks in a message of an [LLMRequest].
type LLMRole string

// The roles.
const (
	LLMSystem    LLMRole = "system"
	LLMUser      LLMRole = "user"
	LLMAssistant LLMRole = "assistant"
)

// LLMMessage is a message to a model.
type LLMMessage struct {
	Role    LLMRole `json:"role"`
	Content string  `json:"content"`
}

// LLMRequest is one request to a model.
type LLMRequest struct {
	// Model is the first of the grant if it is empty.
	Model string `json:"model,omitempty"`
	// Messages are 1 to MaxLLMMessages.
	Messages []LLMMessage `json:"messages"`
	// Schema is a JSON Schema of an object, within the bounds of the schemas of settings. The
	// answer then is JSON that fits it. nil: the answer is text.
	Schema json.RawMessage `json:"schema,omitempty"`
	// MaxTokens is the maximum number of tokens of the answer. 0: that of the model.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Temperature is 0 to 2. nil: that of the model.
	Temperature *float64 `json:"temperature,omitempty"`
}

// LLMRequests is the document that a guest passes to anchor_llm: at most MaxLLMRequests, which
// run at the same time.
type LLMRequests struct {
	Requests []LLMRequest `json:"requests"`
}

// LLMFinish says why an answer ended.
type LLMFinish string

// Why an answer ended.
const (
	// LLMStop says that the answer is whole.
	LLMStop LLMFinish = "stop"
	// LLMLength says that the answer reached its maximum number of tokens.
	LLMLength LLMFinish = "length"
)

// LLMAnswer is the answer of a model to one request, or why there is none.
type LLMAnswer struct {
	Text string `json:"text,omitempty"`
	// JSON is Text as JSON, which fits the schema of the request. nil without a schema.
	JSON json.RawMessage `json:"json,omitempty"`
	// Model is the name of the model that answered, as the grant has it.
	Model        string    `json:"model,omitempty"`
	InputTokens  int       `json:"input_tokens,omitempty"`
	OutputTokens int       `json:"output_tokens,omitempty"`
	Finish       LLMFinish `json:"finish,omitempty"`
	Failure
}

// LLMAnswers is the document that anchor_llm returns, in the order of the requests.
type LLMAnswers struct {
	Responses []LLMAnswer `json:"responses"`
}
