package abi

import (
	"encoding/json"
	"time"

	"github.com/anchor-host/anchor-host/abi/internal/strictjson"
)

// Turn is one utterance of a conversation.
type Turn struct {
	Role       string    `json:"role"`
	Content    string    `json:"content"`
	TokenCount int       `json:"token_count,omitempty"`
	CreatedAt  time.Time `json:"created_at,omitzero"`
	Sequence   int64     `json:"sequence,omitempty"`
	Metadata   Metadata  `json:"metadata,omitempty"`
}

// Query is the query of a build.
type Query struct {
	Text        string    `json:"query_str"`
	Embedding   []float32 `json:"embedding,omitempty"`
	Metadata    Metadata  `json:"metadata,omitempty"`
	ChatHistory []Turn    `json:"chat_history,omitempty"`
}

// Item is one row as a guest sees it. Columns the manifest does not read are
// zero. In a document the row number is the position in the list.
type Item struct {
	ID         string    `json:"id,omitempty"`
	Content    string    `json:"content,omitempty"`
	Source     string    `json:"source,omitempty"`
	Score      float64   `json:"score,omitempty"`
	Priority   int       `json:"priority,omitempty"`
	TokenCount int       `json:"token_count,omitempty"`
	Metadata   Metadata  `json:"metadata,omitempty"`
	CreatedAt  time.Time `json:"created_at,omitzero"`
	// Embedding is the vector of the item. It is empty if the item has none.
	Embedding []float32 `json:"embedding,omitempty"`
}

// NewItem is an item that a guest adds. The host makes the id, counts the tokens, and
// refuses values that the step is not granted.
type NewItem struct {
	// Key identifies the item among those of the plugin: the same key makes the same id.
	// If it is empty, the content is the key.
	Key string `json:"key,omitempty"`
	// Content is the text. Required.
	Content string `json:"content"`
	// Source is the source of the item. If it is empty, the host takes the source that the
	// step is granted.
	Source string `json:"source,omitempty"`
	// Score is 0 to 1.
	Score float64 `json:"score"`
	// Priority is 1 to 10. If it is 0, the host takes the default of the source, or the
	// highest priority that the step is granted if that is lower.
	Priority  int       `json:"priority,omitempty"`
	Metadata  Metadata  `json:"metadata,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// Edit replaces parts of one row. Parts that are nil stay as they are.
type Edit struct {
	Row      uint32   `json:"row"`
	Content  *string  `json:"content,omitempty"`
	Metadata Metadata `json:"metadata,omitzero"`
	Priority *int     `json:"priority,omitempty"`
}

// RowScore is the new score of one row, 0 to 1.
type RowScore struct {
	Row   uint32  `json:"row"`
	Score float64 `json:"score"`
}

// Changes is the change set: what a guest answers to retrieve, process, filter
// and rerank. The parts are applied in the order of the fields, all or nothing.
type Changes struct {
	// Keep lists the rows that stay, each once, ascending. nil keeps all; an
	// empty list drops all.
	Keep   []uint32   `json:"keep,omitzero"`
	Edits  []Edit     `json:"edits,omitempty"`
	Scores []RowScore `json:"scores,omitempty"`
	// Items are new rows. Their numbers follow the last input row.
	Items []NewItem `json:"items,omitempty"`
	// Order is a permutation of the surviving rows, old and new. nil keeps the
	// order. Without Scores the existing scores are redistributed along it.
	Order []uint32 `json:"order,omitzero"`
}

// ItemsRequest is the input document of retrieve, process, filter, rerank,
// enrich_query and memory. Fields that an operation does not use are absent.
type ItemsRequest struct {
	Query Query `json:"query"`
	// Columns names the columns that the items have.
	Columns []string `json:"columns,omitzero"`
	Items   []Item   `json:"items,omitzero"`
	// TopK is the largest number of items to return, for retrieve and rerank.
	TopK int `json:"top_k,omitempty"`
	// TokensLeft is how many more tokens fit into the window when the step begins.
	TokensLeft int             `json:"tokens_left,omitempty"`
	Settings   json.RawMessage `json:"settings,omitempty"`
}

// InitRequest is the input document of init. There is no answer.
type InitRequest struct {
	Settings json.RawMessage `json:"settings,omitempty"`
}

// QueryRequest is the input document of transform_query and classify.
type QueryRequest struct {
	Query    Query           `json:"query"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// TransformReply is the answer to transform_query: 1 to 32 queries.
type TransformReply struct {
	Queries []Query `json:"queries"`
}

// ClassifyReply is the answer to classify.
type ClassifyReply struct {
	Label string `json:"label"`
}

// EnrichReply is the answer to enrich_query.
type EnrichReply struct {
	QueryText string `json:"query_str"`
}

// MemoryReply is the answer to memory: items of source memory or conversation.
type MemoryReply struct {
	Items []NewItem `json:"items"`
}

// CompactRequest is the input document of compact.
type CompactRequest struct {
	Turns []Turn `json:"turns"`
	// Summary is the current summary, empty at first.
	Summary  string          `json:"summary,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// CompactReply is the answer to compact.
type CompactReply struct {
	Summary string `json:"summary"`
}

// MaxFacts is the largest number of facts in a list of an answer to extract.
const MaxFacts = 1024

// FactTypes are the kinds of facts.
var FactTypes = []string{"semantic", "episodic", "procedural", "conversation"}

// Fact is something that a host remembers beyond a conversation.
type Fact struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	// Type is one of [FactTypes].
	Type string   `json:"memory_type,omitempty"`
	Tags []string `json:"tags,omitempty"`
	// Relevance is how important the fact is in general, 0 to 1.
	Relevance float64   `json:"relevance_score,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	Metadata  Metadata  `json:"metadata,omitempty"`
}

// NewFact is a fact that a guest extracts from turns.
type NewFact struct {
	Content string `json:"content"`
	// Type is one of [FactTypes], semantic if it is empty.
	Type string   `json:"memory_type,omitempty"`
	Tags []string `json:"tags,omitempty"`
	// Relevance is 0 to 1. With 0 the host chooses it.
	Relevance float64  `json:"relevance_score,omitempty"`
	Metadata  Metadata `json:"metadata,omitempty"`
}

// FactEdit replaces the text of a fact.
type FactEdit struct {
	// ID is the ID of a fact of the request.
	ID      string `json:"id"`
	Content string `json:"content"`
	// Tags replace the tags of the fact. If the list is nil, the tags do not change.
	Tags []string `json:"tags,omitzero"`
}

// ExtractRequest is the input document of extract.
type ExtractRequest struct {
	// Turns are the turns to extract facts from, oldest first. There are none if the guest should
	// only tidy up the facts.
	Turns []Turn `json:"turns"`
	// Facts are known facts of the same owner: those that are related to the turns, or those to
	// tidy up.
	Facts    []Fact          `json:"facts,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// ExtractReply is the answer to extract. Each list has at most [MaxFacts]. A fact of the
// request is in Update or Remove at most once.
type ExtractReply struct {
	Add    []NewFact  `json:"add,omitempty"`
	Update []FactEdit `json:"update,omitempty"`
	// Remove are the IDs of facts that are wrong, or whose content another fact repeats.
	Remove []string `json:"remove,omitempty"`
}

// The modes of a [DistillRequest].
const (
	// DistillObserve asks for observations of messages that are about to leave the list.
	DistillObserve = "observe"
	// DistillReflect asks for a reflection that replaces observations.
	DistillReflect = "reflect"
)

// MaxObservations is the largest number of observations in a list of an answer to distill.
const MaxObservations = 256

// DistillRequest is the input document of distill.
type DistillRequest struct {
	// Mode is [DistillObserve] or [DistillReflect].
	Mode string `json:"mode"`
	// Messages are the messages to observe, oldest first. There are none in the mode reflect.
	Messages []Message `json:"messages"`
	// Observations are the current observations. In the mode reflect they are those that the
	// reflection will replace.
	Observations []string `json:"observations,omitempty"`
	// Reflection is the current reflection, empty at first. The new reflection replaces it.
	Reflection string `json:"reflection,omitempty"`
	// MaxTokens is the maximum number of tokens of the answer.
	MaxTokens int             `json:"max_tokens"`
	Settings  json.RawMessage `json:"settings,omitempty"`
}

// DistillReply is the answer to distill: observations in the mode observe, a reflection in
// the mode reflect.
type DistillReply struct {
	// Replace are observations that replace all current ones. If it is nil, the current ones are
	// kept.
	Replace []string `json:"replace,omitzero"`
	// Add are observations that are appended. Both lists have at most [MaxObservations].
	Add []string `json:"add,omitzero"`
	// Reflection is nil in the mode observe.
	Reflection *string `json:"reflection,omitempty"`
}

// Message is one entry of the message list of an agent loop.
type Message struct {
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	Name       string          `json:"name,omitempty"`
	ToolCalls  json.RawMessage `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	// Parts are the contents, in order. A request has them only if the guest reads
	// [PartMessageParts]. In an answer they edit the message that the host sent: parts may be
	// left out, texts may change, and texts may be added. A message without them in an answer is
	// as it is without this member.
	Parts []MessagePart `json:"parts,omitzero"`
}

// MessagePart is one piece of the content of a message.
type MessagePart struct {
	// Index is the position in the list of the original message, from 0 on. A request always has
	// it. In an answer, a part with it is the original part, and a part without it is a new text.
	Index *int `json:"index,omitempty"`
	// Type is text, image, document, audio, tool_call, tool_result, thinking, refusal or unknown.
	// Later hosts may send others. If an answer leaves it out and names only Index, the original
	// part stays as it is.
	Type string `json:"type,omitempty"`
	// Text is the text of a text or of a refusal.
	Text string `json:"text,omitempty"`
	// ID is the id of a call, or of the call that a result answers.
	ID string `json:"id,omitempty"`
	// Name is the name of the tool of a call, and of a result if the result names it.
	Name string `json:"name,omitempty"`
	// Arguments are the arguments of a call: a JSON object, or whatever text the model wrote.
	Arguments string `json:"arguments,omitempty"`
	// Media describes an image, a document or an audio. It never has the content itself.
	Media *MessageMedia `json:"media,omitempty"`
	// Parts are the contents of a result, or of a document that consists of parts, at most
	// [MaxPartDepth] levels deep. If they are nil in an answer, those of the original stay. An
	// empty list that is not nil removes all parts of a result.
	Parts []MessagePart `json:"parts,omitzero"`
	// IsError says that a result reports an error.
	IsError bool `json:"is_error,omitempty"`
}

// MessageMedia describes a content that is not text.
type MessageMedia struct {
	// Type is the media type, such as image/png.
	Type string `json:"type,omitempty"`
	// URL is where the API fetches the content. It is never one that contains the content.
	URL string `json:"url,omitempty"`
	// FileID is the name under which the API has stored the content.
	FileID string `json:"file_id,omitempty"`
	// Title is the title or the file name of a document.
	Title string `json:"title,omitempty"`
	// Detail is the level of detail of an image, such as low.
	Detail string `json:"detail,omitempty"`
	// Bytes is the size of the content if the message contains it, otherwise 0.
	Bytes int `json:"bytes,omitempty"`
}

// MaxPartDepth is how many lists of [MessagePart] may lie in each other, the list of the message
// included.
const MaxPartDepth = strictjson.MaxLevels

// AgentState is the state of an agent that persists from call to call.
type AgentState struct {
	RunID        string    `json:"run_id,omitempty"`
	Messages     []Message `json:"messages,omitzero"`
	Observations []string  `json:"observations,omitempty"`
	Reflection   string    `json:"reflection,omitempty"`
	Data         Metadata  `json:"data,omitempty"`
}

// ProviderBudget is the number of tokens that a provider chain may use. Phase is "llm" or
// "synthesize".
type ProviderBudget struct {
	MaxTokens   int    `json:"max_tokens"`
	MaxMessages int    `json:"max_messages,omitempty"`
	Phase       string `json:"phase"`
}

// ProvideRequest is the input document of provide and estimate_tokens.
type ProvideRequest struct {
	State    AgentState      `json:"state"`
	Messages []Message       `json:"messages"`
	Budget   ProviderBudget  `json:"budget"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// ProvideReply is the answer to provide. If Messages is nil, the messages do not change.
// State replaces those parts of the state that it names (observations, reflection, data).
type ProvideReply struct {
	Messages []Message    `json:"messages,omitzero"`
	State    *StateChange `json:"state,omitempty"`
}

// StateChange has the parts of a state that change. A part that is nil does not change. An empty
// list, text or map that is not nil removes the current value. A guest cannot change RunID and
// Messages: a host refuses an answer that names them.
type StateChange struct {
	RunID        string    `json:"run_id,omitempty"`
	Messages     []Message `json:"messages,omitempty"`
	Observations []string  `json:"observations,omitzero"`
	Reflection   *string   `json:"reflection,omitempty"`
	Data         Metadata  `json:"data,omitzero"`
}

// EstimateReply is the answer to estimate_tokens.
type EstimateReply struct {
	Tokens int `json:"tokens"`
}

// FormatRequest is the input document of format.
type FormatRequest struct {
	Items      []Item `json:"items"`
	MaxTokens  int    `json:"max_tokens"`
	UsedTokens int    `json:"used_tokens"`
	// Query is the question of the user, which ends the output. It is absent if the caller adds
	// it, or if there is none.
	Query    string          `json:"query,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// FormatReply is the answer to format: a string or any other JSON value.
type FormatReply struct {
	FormatType string          `json:"format_type"`
	Output     json.RawMessage `json:"output"`
}

// CountRequest is the input document of count_tokens.
type CountRequest struct {
	Texts    []string        `json:"texts"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// CountReply is the answer to count_tokens: one count per text.
type CountReply struct {
	Counts []int `json:"counts"`
}

// Event is the input document of observe. There is no answer.
type Event struct {
	// Type is pipeline_start, step_start, step_end, step_error or pipeline_end.
	Type     string          `json:"type"`
	Step     string          `json:"step,omitempty"`
	Query    string          `json:"query,omitempty"`
	Items    int             `json:"items"`
	TimeMS   float64         `json:"time_ms,omitempty"`
	Error    string          `json:"error,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// NewDocument returns a pointer to a new document of the JSON lane. name is an
// [OperationInfo.Request] or an [OperationInfo.Reply]. For any other name the result is nil.
// NewDocument uses a switch instead of a table, so that guests that do not call it do not contain
// it.
func NewDocument(name string) any {
	switch name {
	case "InitRequest":
		return new(InitRequest)
	case "ItemsRequest":
		return new(ItemsRequest)
	case "Changes":
		return new(Changes)
	case "QueryRequest":
		return new(QueryRequest)
	case "TransformReply":
		return new(TransformReply)
	case "ClassifyReply":
		return new(ClassifyReply)
	case "EnrichReply":
		return new(EnrichReply)
	case "MemoryReply":
		return new(MemoryReply)
	case "CompactRequest":
		return new(CompactRequest)
	case "CompactReply":
		return new(CompactReply)
	case "DistillRequest":
		return new(DistillRequest)
	case "DistillReply":
		return new(DistillReply)
	case "ExtractRequest":
		return new(ExtractRequest)
	case "ExtractReply":
		return new(ExtractReply)
	case "ProvideRequest":
		return new(ProvideRequest)
	case "ProvideReply":
		return new(ProvideReply)
	case "EstimateReply":
		return new(EstimateReply)
	case "FormatRequest":
		return new(FormatRequest)
	case "FormatReply":
		return new(FormatReply)
	case "CountRequest":
		return new(CountRequest)
	case "CountReply":
		return new(CountReply)
	case "Event":
		return new(Event)
	}
	return nil
}
