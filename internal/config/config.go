package config

import (
	"cmp"
	"reflect"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Config is the content of anchor.yaml. Package assemble turns it into a
// pipeline; a build request uses the same parts.
type Config struct {
	Plugins       Plugins             `key:"plugins" doc:"Where plugins are found."`
	CacheDir      string              `key:"cache_dir" doc:"Folder of compiled plugins. Default: anchor-host/compiled in the cache folder of the user."`
	Timeout       Duration            `key:"timeout" doc:"Bound of one whole build, such as 10s. Default: none."`
	LogLevel      string              `key:"log_level" enum:"debug,info,warn,error" default:"warn" doc:"Least level of log lines on stderr, those of plugins included."`
	MaxTokens     int                 `key:"max_tokens" min:"1" default:"8192" doc:"Size of the window in tokens."`
	Tokenizer     Choice              `key:"tokenizer" default:"cl100k_base" doc:"words, cl100k_base, o200k_base, p50k_base, r50k_base, or a plugin."`
	Model         string              `key:"model" doc:"The model the window is for, such as gpt-4o or claude-sonnet-4-5: it decides how tokens are counted, in the place of a tokenizer."`
	Calibration   string              `key:"calibration" doc:"File of usage figures of a model whose vocabulary is not public, one JSON object a line: base_tokens (counting.base_tokens of a result) and usage, as the model's API returned it; model if there are several. They narrow the interval in which its tokens are counted."`
	Fit           string              `key:"fit" enum:"items,exact" default:"items" doc:"What must be within max_tokens: the sum of the items, or the formatted output."`
	FitOptions    FitOptions          `key:"fit_options" doc:"What an exact fit counts beside the texts, and what may be cut."`
	Fill          string              `key:"fill" enum:"first_fit,value_per_token,knapsack" default:"first_fit" doc:"Which items are tried first: the best ones, those that give most for their tokens, or the best choice as a whole."`
	Truncate      string              `key:"truncate" enum:"none,sentence,character" default:"none" doc:"Where the text of an item that does not fit may be cut. System items are never cut."`
	Order         string              `key:"order" enum:"priority,lost_in_the_middle,chronological,cache_stable" default:"priority" doc:"The order in which the context is written."`
	Format        Choice              `key:"format" default:"generic" doc:"anthropic, openai, generic, or a plugin."`
	FormatOptions FormatOptions       `key:"format_options" doc:"Options of the built-in formats."`
	Budget        *Budget             `key:"budget" doc:"How the window is divided among the sources."`
	SystemPrompts []SystemPrompt      `key:"system_prompts" doc:"Fixed texts at the head of the window."`
	Instances     map[string]Instance `key:"instances" doc:"Configured plugins: init settings, grants and limits, by a name of your choice."`
	Memory        *Part               `key:"memory" doc:"A plugin that offers what is remembered (operation memory)."`
	Conversation  *Conversation       `key:"conversation" doc:"A sliding window over the turns of a conversation, given here or kept in the store."`
	Facts         *Facts              `key:"facts" doc:"Facts of the store that are offered to a build."`
	Frames        *RunFrames          `key:"frames" doc:"Frames of an agent run that are offered to a build, beside memory or conversation and facts."`
	Enricher      *Enricher           `key:"enricher" doc:"Rewrites the query with what is remembered: a template or a plugin."`
	Steps         []Step              `key:"steps" doc:"What runs between memory and window, by ascending priority."`
	Pipelines     map[string]Pipeline `key:"pipelines" doc:"Other pipelines, by name: each key that one states counts before the same key at the top. null takes it away."`
	Callbacks     []Use               `key:"callbacks" doc:"Plugins that observe builds (operation observe)."`
	Tenant        string              `key:"tenant" default:"default" doc:"Whose memory it is: tenants of one store never see each other's, and plugins have a key-value store for each."`
	Store         Store               `key:"store" doc:"Where conversations, facts and agent runs are kept."`
	Agent         Agent               `key:"agent" doc:"The context of an agent's model calls: budget and built-in providers of assemble."`
	Providers     []Provider          `key:"providers" doc:"Plugins that change the messages of an agent before a model call (operation provide)."`
}

// Plugins says where plugins are, and what all of them together may take.
type Plugins struct {
	Dir          string   `key:"dir" default:"plugins" doc:"Folder with <name>/plugin.wasm (and plugin.yaml) or <name>.wasm."`
	Memory       Size     `key:"memory" doc:"Memory of the instances of all plugins together. Default: 2GiB, or half of what the control group allows this process, if that is less."`
	PluginShare  *float64 `key:"plugin_share" min:"0.01" max:"1" doc:"Part of memory that one plugin with several instances may take. Default: 0.5."`
	MaxInstances int      `key:"max_instances" min:"1" default:"256" doc:"Instances of all plugins together; each plugin has one of them for itself."`
}

// FormatOptions are the options of the built-in formats.
type FormatOptions struct {
	Caching      bool   `key:"caching" default:"false" doc:"Mark the stable parts for prompt caching (anthropic only)."`
	CacheControl string `key:"cache_control" enum:"block,seed" default:"block" doc:"Where the mark goes: on content blocks, as the API wants it, or beside the role."`
	Breakpoints  string `key:"breakpoints" enum:"auto" doc:"auto: up to four marks where the model's API heeds them (with caching; anthropic only). Default: the system prompt and the context."`
	Model        string `key:"model" doc:"Model whose least cacheable prefix counts for breakpoints: auto. Default: model, else the largest of all."`
}

// Budget divides the window among the sources: a preset, or numbers.
type Budget struct {
	Preset            string       `key:"preset" enum:"chat,rag,agent" doc:"Ready-made shares of max_tokens."`
	TotalTokens       int          `key:"total_tokens" min:"1" doc:"What the allocations and the reserve must fit into. Default: max_tokens."`
	ReserveTokens     int          `key:"reserve_tokens" min:"0" doc:"Tokens kept free for the answer."`
	Allocations       []Allocation `key:"allocations" doc:"Caps of single sources."`
	EnforceSharedPool bool         `key:"enforce_shared_pool" doc:"Sources without an allocation share what the others leave, and no more."`
}

// Allocation is the cap of one source.
type Allocation struct {
	Source    string `key:"source,required" enum:"retrieval,memory,system,user,tool,conversation"`
	MaxTokens int    `key:"max_tokens,required" min:"1"`
	Priority  int    `key:"priority" min:"1" max:"10" default:"5" doc:"Accepted for compatibility; nothing reads it."`
	Overflow  string `key:"overflow_strategy" enum:"truncate,drop" default:"truncate" doc:"Keep what fits, or nothing of a source that exceeds its cap."`
}

// SystemPrompt is a fixed text at the head of the window.
type SystemPrompt struct {
	Content  string `key:"content,required"`
	Priority int    `key:"priority" min:"1" max:"10" default:"10"`
}

// Use names a plugin for one job: an instance of the configuration, or a
// plugin of the folder as it is.
type Use struct {
	Plugin   string         `key:"plugin" doc:"Name of a plugin that needs no configuration."`
	Instance string         `key:"instance" doc:"Name of an entry of instances."`
	Settings map[string]any `key:"settings" doc:"Settings of this use."`
	Timeout  Duration       `key:"timeout" doc:"Bound of one call."`
	Reads    []string       `key:"reads" doc:"Narrows what the plugin receives to these columns and parts of the request; an empty list allows nothing."`
}

// Part is a plugin for one part of every build.
type Part struct {
	Plugin   string         `key:"plugin" doc:"Name of a plugin that needs no configuration."`
	Instance string         `key:"instance" doc:"Name of an entry of instances."`
	Settings map[string]any `key:"settings" doc:"Settings of this use."`
	Timeout  Duration       `key:"timeout" doc:"Bound of one call."`
	Reads    []string       `key:"reads" doc:"Narrows what the plugin receives to these columns and parts of the request; an empty list allows nothing."`
	OnError  string         `key:"on_error" enum:"raise,skip" default:"skip" doc:"When it fails: fail the build, or go on without it and say so."`
}

// Use returns the plugin of the part.
func (p *Part) Use() Use {
	return Use{Plugin: p.Plugin, Instance: p.Instance, Settings: p.Settings, Timeout: p.Timeout, Reads: p.Reads}
}

// Conversation is a sliding window over turns.
type Conversation struct {
	ID            string   `key:"id" doc:"Name of a conversation in the store, whose newest turns fill the window."`
	MaxTokens     int      `key:"max_tokens" min:"1" default:"4096" doc:"Older turns leave when the turns exceed this."`
	Eviction      string   `key:"eviction" enum:"fifo,paired,exchange,importance" default:"fifo" doc:"Which turns leave: the oldest, questions with their answers, whole exchanges with their tool calls, or those whose metadata importance is lowest (0 to 1; 0.5 where there is none, or no such number), the older first. Among the turns of a stored conversation, those are looked at that fit in 8 times max_tokens; older ones leave whatever their importance."`
	Recency       string   `key:"recency" enum:"linear,exponential" doc:"How the scores of the turns rise to that of the newest, 1. Default: linear, and 0.5 for a single turn."`
	RecencyLowest *float64 `key:"recency_lowest" min:"0" max:"1" doc:"The score of the oldest turn, for linear. Default: 0.5."`
	RecencyRate   *float64 `key:"recency_rate" min:"0" doc:"How steeply the scores rise, for exponential; 0 is evenly. Default: 2."`
	Begin         string   `key:"begin" enum:"any,user" default:"any" doc:"Whose turn may come first: user leaves out the turns before the first one of the user, those of the system excepted, for APIs that refuse others."`
	Turns         []Turn   `key:"turns" doc:"The turns so far, oldest first, of a conversation that is not in the store."`
	Compact       *Use     `key:"compact" doc:"A plugin that condenses the turns that leave (operation compact)."`
}

// Turn is one utterance.
type Turn struct {
	Role      string         `key:"role,required" enum:"user,assistant,system,tool"`
	Content   string         `key:"content,required"`
	CreatedAt time.Time      `key:"created_at"`
	Metadata  map[string]any `key:"metadata" doc:"What else is known of the turn, such as importance."`
}

// Enricher rewrites the query text: a template, or a plugin.
type Enricher struct {
	Template string         `key:"template" doc:"With {query} and {context}. Default: the query, a blank line, \"Conversation context: \" and the context."`
	MaxItems int            `key:"max_items" min:"1" default:"5" doc:"How many of the newest memory items the context has."`
	Plugin   string         `key:"plugin" doc:"Name of a plugin that needs no configuration (operation enrich_query)."`
	Instance string         `key:"instance" doc:"Name of an entry of instances."`
	Settings map[string]any `key:"settings" doc:"Settings of this use."`
	Timeout  Duration       `key:"timeout" doc:"Bound of one call."`
	Reads    []string       `key:"reads" doc:"Narrows what the plugin receives to these columns and parts of the request; an empty list allows nothing."`
	OnError  string         `key:"on_error" enum:"raise,skip" doc:"When it fails: fail the build, or go on with the query as it was and say so. Default: skip for plugins, raise for templates."`
}

// Use returns the plugin of the enricher.
func (e *Enricher) Use() Use {
	return Use{Plugin: e.Plugin, Instance: e.Instance, Settings: e.Settings, Timeout: e.Timeout, Reads: e.Reads}
}

// Step is one stage between memory and window: a plugin, an instance or a
// built-in.
type Step struct {
	Name        string              `key:"name,required" doc:"Shown in diagnostics, events and errors."`
	Plugin      string              `key:"plugin" doc:"Name of a plugin that needs no configuration."`
	Instance    string              `key:"instance" doc:"Name of an entry of instances."`
	Builtin     string              `key:"builtin" enum:"filter,min_score,rerank,sort,top_k,dedupe_ids" doc:"A step that needs no plugin."`
	Operation   string              `key:"operation" enum:"retrieve,process,filter,rerank,transform_query,classify" doc:"Needed only when the plugin offers several."`
	Function    string              `key:"function" doc:"For a module that does not speak the plugin contract, any Extism module: the function to call."`
	Input       host.FunctionInput  `key:"input" enum:"query,text,request" default:"query" doc:"What the function is sent: the text of the query, the text of each item in a call of its own, or the JSON document that plugins receive."`
	Output      host.FunctionOutput `key:"output" enum:"text,items,changes" default:"text" doc:"What its output is: a text (of a new item, or of the item that was sent), a JSON array of new items, or the JSON document that plugins answer. Empty: no change."`
	Priority    int                 `key:"priority" min:"1" doc:"Lower runs earlier, equal ones in the order of this list. Default: the plugin's, else 50."`
	Timeout     Duration            `key:"timeout" doc:"Bound of one call, such as 500ms."`
	OnError     string              `key:"on_error" enum:"raise,skip" doc:"Default: skip for plugins, raise for built-ins."`
	TopK        int                 `key:"top_k" min:"1" max:"1048576" doc:"The most items a retriever or reranker returns. Default: the plugin's, else 10."`
	Settings    map[string]any      `key:"settings" doc:"Settings of this step."`
	Scope       []string            `key:"scope" enum:"retrieval,memory,user,tool,conversation" doc:"The sources the step sees. Default: by operation; never system."`
	Source      string              `key:"source" enum:"retrieval,memory,user,tool,conversation" doc:"Source of the items the step adds. Default: retrieval."`
	MaxPriority int                 `key:"max_priority" min:"1" max:"10" doc:"The highest priority the step may give."`
	Reads       []string            `key:"reads" enum:"id,score,text,metadata,source,priority,token_count,created_at,query_text,query_embedding,query_metadata,chat_history,none" doc:"Narrows the columns the plugin reads, and the parts of the query if it names any; an empty list allows nothing."`
	Retriever   *Use                `key:"retriever" doc:"For transform_query: what each variant is retrieved with."`
	Retrievers  []Member            `key:"retrievers" doc:"Retrievers that are asked at the same time and whose results are merged: a step of its own, or for transform_query instead of retriever. Results with one key, or one text if they have no key, are the same."`
	Fusion      string              `key:"fusion" enum:"weighted,rrf,round_robin" doc:"How the results of retrievers are merged: by the weighted mean of their scores, of which each retriever's are first scaled to 0 to 1, by their ranks (reciprocal rank fusion), or one of each in turn. Default: weighted."`
	RRFK        int                 `key:"rrf_k" min:"1" max:"1000000" doc:"For fusion rrf: what is added to each rank; the higher, the less the first ranks count. Default: 60."`
	Classifier  *Classifier         `key:"classifier" doc:"Chooses one of routes for each query by the keywords in it, instead of a plugin."`
	Routes      map[string]Use      `key:"routes" doc:"For classify and classifier: the retriever of each label."`
	Default     string              `key:"default" doc:"For classify and classifier: the label used for labels without a route, and for queries without a keyword. Without it the step fails for these."`
}

// Member is one of several retrievers of a step.
type Member struct {
	Plugin   string         `key:"plugin" doc:"Name of a plugin that needs no configuration."`
	Instance string         `key:"instance" doc:"Name of an entry of instances."`
	Settings map[string]any `key:"settings" doc:"Settings of this use."`
	Timeout  Duration       `key:"timeout" doc:"Bound of one call. One that fails is left out with a line in the log. Default: that of the step."`
	Reads    []string       `key:"reads" doc:"Narrows what the plugin receives to these columns and parts of the request."`
	Weight   float64        `key:"weight" min:"0.001" max:"1000" default:"1" doc:"How much its results count beside those of the others; not for fusion round_robin."`
	TopK     int            `key:"top_k" min:"1" max:"1048576" doc:"How many items it is asked for. Default: that of the step."`
}

// Use returns the plugin of the retriever.
func (m *Member) Use() Use {
	return Use{Plugin: m.Plugin, Instance: m.Instance, Settings: m.Settings, Timeout: m.Timeout, Reads: m.Reads}
}

// Title names the retriever in logs and errors.
func (m *Member) Title() string { return cmp.Or(m.Instance, m.Plugin) }

// Classifier chooses a label for a query without a plugin.
type Classifier struct {
	Keywords Keywords `key:"keywords,required" doc:"The keywords of each label. They match anywhere in the query, also inside of words, in upper or lower case. The first label of the file that has a match is chosen."`
}

// Keywords are the keywords of labels, in the order of the file.
type Keywords []pipeline.KeywordRule

// UnmarshalNode decodes a map from labels to lists of keywords.
func (k *Keywords) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind != strict.Map {
		d.Fail(n, path, "want a map from labels to lists of keywords")
		return
	}
	for _, e := range n.Entries {
		rule := pipeline.KeywordRule{Label: e.Key}
		d.Value(e.Value, reflect.ValueOf(&rule.Keywords).Elem(), strict.Join(path, e.Key))
		*k = append(*k, rule)
	}
}

// JSONSchema states the map.
func (*Keywords) JSONSchema() map[string]any {
	return strict.Schema(reflect.TypeFor[map[string][]string]())
}

// Use returns the plugin of the step.
func (s *Step) Use() Use {
	return Use{Plugin: s.Plugin, Instance: s.Instance, Settings: s.Settings, Timeout: s.Timeout, Reads: s.Reads}
}
