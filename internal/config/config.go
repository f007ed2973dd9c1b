package config

import (
	"reflect"
	"slices"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Config is the content of anchor.yaml. Package assemble turns it into a
// pipeline; a build request uses the same parts.
type Config struct {
	Plugins       Plugins    `key:"plugins" doc:"Where plugins are found, how they are configured, and which resources they may use."`
	Trust         Trust      `key:"trust" doc:"Which plugins may run, and whose signatures count."`
	Registries    Registries `key:"registries" doc:"How registries are reached, and which indexes are searched."`
	Timeout       Duration   `key:"timeout" doc:"Time limit of a whole build, such as 10s. Default: none."`
	Window        `key:"window" doc:"What goes into the window, and in which order."`
	Counting      `key:"counting" doc:"How tokens are counted."`
	Format        Choice               `key:"format" default:"generic" doc:"anthropic, openai, openai-responses, gemini, generic, or a plugin."`
	FormatOptions FormatOptions        `key:"format_options" doc:"Options of the built-in formats."`
	Retrievers    map[string]Retriever `key:"retrievers" doc:"Searches of collections, by a name of your choice. A step names one with use."`
	Memory        `key:"memory" doc:"What a build remembers: items of a plugin (operation memory), or turns and facts of the store, and frames in addition."`
	Enricher      *Enricher             `key:"enricher" doc:"Adds memory items to the query text: a template or a plugin."`
	Embedder      string                `key:"embedder" doc:"Name of an entry of embedders, which makes the vectors that plugins read (embedding and query_embedding) and that items and query do not have yet. Default: none; such plugins then see only the vectors of collections."`
	Steps         []Step                `key:"steps" doc:"The steps between memory and window. They run by ascending priority."`
	Pipelines     map[string]Pipeline   `key:"pipelines" doc:"Further pipelines, by name. A key in a pipeline overrides the same key at the top level of the file, in window, counting and memory key by key; null removes it."`
	Callbacks     []Plain               `key:"callbacks" doc:"Plugins that observe builds (operation observe)."`
	Tenant        string                `key:"tenant" default:"default" doc:"The owner of stored data. Tenants never see each other's data, and plugins have a separate key-value store for each tenant."`
	Models        map[string]Model      `key:"models" doc:"Models that plugins may ask, by a name of your choice."`
	Embedders     map[string]Embedder   `key:"embedders" doc:"Models that make vectors of texts, by a name of your choice."`
	Collections   map[string]Collection `key:"collections" doc:"Settings of collections, by their names."`
	Telemetry     Telemetry             `key:"telemetry" doc:"Log level, prices of models, and the names of tenants in metrics."`
	Server        Server                `key:"server" doc:"Addresses, limits and shutdown of serve. A change needs a restart."`
	Store         Store                 `key:"store" doc:"Where conversations, facts and agent runs are kept."`
	Builds        Builds                `key:"builds" doc:"What holds for all builds and assemblies."`
	Agent         Agent                 `key:"agent" doc:"Budget and providers of assemble, which prepares the messages of an agent."`
}

// Window says what goes into the window.
type Window struct {
	MaxTokens     int            `key:"max_tokens" min:"1" default:"8192" doc:"Size of the window in tokens."`
	Answer        int            `key:"answer" min:"0" doc:"Tokens of the window that are kept free for the answer. Default: none, or those of the preset."`
	Fit           string         `key:"fit" enum:"items,exact" default:"items" doc:"What max_tokens limits: the sum of the items, or the formatted output."`
	Fill          string         `key:"fill" enum:"first_fit,value_per_token,knapsack" default:"first_fit" doc:"How items are chosen: first_fit tries the best items first, value_per_token those with the highest value for their tokens, and knapsack finds the best combination."`
	Truncate      string         `key:"truncate" enum:"none,sentence,character" default:"none" doc:"Where the text of an item that does not fit may be cut. System items are never cut."`
	CutMinTokens  int            `key:"cut_min_tokens" min:"1" default:"32" doc:"The minimum number of tokens that a cut text keeps (truncate)."`
	Order         string         `key:"order" enum:"priority,lost_in_the_middle,chronological,cache_stable" default:"priority" doc:"The order of the items in the formatted context."`
	Budget        *Budget        `key:"budget" doc:"How the window is divided among the sources."`
	SystemPrompts []SystemPrompt `key:"system_prompts" max:"1000" doc:"Fixed texts at the start of the window."`
	Tools         Tools          `key:"tools" doc:"The tools that the model may call, in the form of an API: that of the format, or one that is converted without loss. They are part of the formats of model APIs, and the window has room for their tokens."`
	IncludeQuery  *bool          `key:"include_query" default:"true" doc:"End the output with the query, as the message of the user. The window has room for it before any item. A query that is the last turn of the conversation is not repeated."`
}

// Counting says how tokens are counted.
type Counting struct {
	Model       string `key:"model" doc:"The target model, such as gpt-4o or claude-sonnet-4-5. It selects how tokens are counted, so tokenizer must not be set, unless it is a file. The tokens of an unknown model are estimated, with a warning."`
	Tokenizer   Choice `key:"tokenizer" default:"cl100k_base" doc:"words, cl100k_base, o200k_base, a file such as {file: llama/tokenizer.json}, or a plugin."`
	Calibration string `key:"calibration" doc:"File with token counts that the API of a model reported, for models whose vocabulary is not public. Each line is a JSON object: base_tokens (counting.base_tokens of a result), usage as the API returned it, and model if the file covers several models. The figures narrow the estimated interval of token counts."`
}

// Memory says what a build remembers: its own keys name the plugin that supplies memory items.
type Memory struct {
	Use
	Conversation *Conversation `key:"conversation" doc:"A sliding window over the turns of a conversation, given here or kept in the store."`
	Facts        *Facts        `key:"facts" doc:"Facts of the store that are offered to a build."`
	Frames       *RunFrames    `key:"frames" doc:"Frames of an agent run that are offered to a build, in addition to a plugin, or conversation and facts."`
}

// Plugins says where plugins are, how they are configured, and which resources all of them together may use.
type Plugins struct {
	Dir          string              `key:"dir" default:"plugins" doc:"Folder with <name>/plugin.wasm (and plugin.yaml) or <name>.wasm."`
	CacheDir     string              `key:"cache_dir" doc:"Folder of compiled plugins. Default: anchor-host/compiled in the cache folder of the user."`
	Instances    map[string]Instance `key:"instances" doc:"Configured plugins: init settings, grants and limits, by a name of your choice. A use of this name means the instance, also where a plugin of the folder has the name."`
	TotalMemory  Size                `key:"total_memory" doc:"Maximum memory of the instances of all plugins together. Default: 2GiB, or half of the memory limit of the control group, if that is less."`
	Must         string              `key:"must" enum:"stated,all" default:"stated" doc:"Which plugins must answer. all: every plugin that the configuration names, except where it says must: false. stated: those that say must: true."`
	MaxInstances int                 `key:"max_instances" min:"1" default:"256" doc:"Maximum number of instances of all plugins together. One instance is reserved for each plugin."`
}

// Builds says what holds for all builds and assemblies.
type Builds struct {
	Records *Records `key:"records" doc:"Keeps a record of each build in the store, for builds list and explain; {} takes the defaults. Builds never wait for it. Default: none."`
	Strict  bool     `key:"strict" default:"false" doc:"Refuse answers that lack something, with the reason degraded (status 503, exit code 8): a step was skipped, a list of results was cut, a message was left out, a collection is missing, a service gave no answer."`
}

// The values of cite.
const (
	CiteText   = "text"
	CiteNative = "native"
)

// FormatOptions are the options of the built-in formats.
type FormatOptions struct {
	Caching       bool   `key:"caching" default:"false" doc:"Mark the stable parts for prompt caching (anthropic only)."`
	Breakpoints   string `key:"breakpoints" enum:"auto,fixed" doc:"auto: up to four marks, where the API of the model uses them. fixed: the system prompt and the context are marked, whatever their length (with caching; anthropic only). Default: auto."`
	Model         string `key:"model" doc:"For breakpoints auto: the model whose minimum cacheable prefix is used. Default: counting.model; without it, the largest minimum of all models."`
	Cite          string `key:"cite" enum:"none,text,native" default:"none" doc:"Says for each found item where it is from: file, heading and page, if they are known. text: a line before its text. native: a block that the model can cite (anthropic: search_result), and text where the API has none."`
	MaxOutput     int    `key:"max_output_tokens" min:"1" doc:"The largest number of tokens of the answer, which the formats of model APIs state. It does not depend on the size of the window. Default: 4096 with anthropic, if counting.model is set. Otherwise the output states none, and the model decides."`
	ContextTokens int    `key:"context_tokens" min:"1" doc:"The size of the context of the model in tokens, where window.max_tokens comes near it. The answer then has at most what window.max_tokens without window.answer leaves of it: the default of max_output_tokens is lowered, and a max_output_tokens beyond it is an error."`
}

// Budget divides the window among the sources: a preset, or numbers.
type Budget struct {
	Preset            string       `key:"preset" enum:"chat,rag,agent" doc:"Shares of max_tokens. A share is a minimum: a source has it if the window is full, and what it does not use is free for the others. chat: system 10 %, memory 10 %, conversation 20 %, retrieval 25 %. rag: system 10 %, memory 5 %, conversation 10 %, retrieval 40 %. agent: system 15 %, memory 10 %, conversation 15 %, retrieval 20 %, tool 15 %. All keep 15 % free for the answer."`
	Caps              []string     `key:"caps" enum:"retrieval,memory,system,user,tool,conversation" doc:"The sources whose share of the preset is also a cap: they never have more."`
	Allocations       []Allocation `key:"allocations" doc:"Caps and minimums of single sources."`
	EnforceSharedPool bool         `key:"enforce_shared_pool" doc:"Sources without an allocation together get only the tokens that are not allocated."`
	// Total is what a program in Go sets for the allocations and the answer together. 0: the size of the window.
	Total int
}

// Allocation is the cap of one source, its minimum, or both.
type Allocation struct {
	Source    string `key:"source,required" enum:"retrieval,memory,system,user,tool,conversation"`
	MaxTokens int    `key:"cap_tokens" min:"1" doc:"The source never has more. Default: no cap; min_tokens is then needed."`
	MinTokens int    `key:"min_tokens" min:"1" doc:"The source has so much if it has items for it, also if the window is full. What it does not use is free for the others."`
	Overflow  string `key:"overflow_strategy" enum:"truncate,drop" default:"truncate" doc:"Keep what fits, or nothing of a source that exceeds its cap."`
}

// SystemPrompt is a fixed text at the start of the window.
type SystemPrompt struct {
	Content  string `key:"content,required"`
	Priority int    `key:"priority" min:"1" max:"10" default:"10"`
}

// Conversation is a sliding window over turns.
type Conversation struct {
	ID            string `key:"id" doc:"Name of a conversation in the store. Its newest turns are added to the window."`
	MaxTokens     int    `key:"tokens" min:"1" default:"4096" doc:"The maximum number of tokens of the turns. Turns beyond it leave the window."`
	Eviction      string `key:"eviction" enum:"fifo,paired,exchange,importance" default:"fifo" doc:"Which turns leave: fifo the oldest, paired questions with their answers, exchange whole exchanges with their tool calls, importance those with the lowest metadata value importance (0 to 1, default 0.5), older turns first. An importance that is no number from 0 to 1 counts as 0.5. In a stored conversation, only the turns that fit in 8 times tokens are looked at; older ones leave whatever their importance."`
	Begin         string `key:"begin" enum:"any,user" default:"any" doc:"Which role may come first. user leaves out turns before the first user turn, except system turns; some APIs require this."`
	Turns         []Turn `key:"turns" doc:"The turns of a conversation that is not in the store, oldest first."`
	Compact       *Plain `key:"compact" doc:"A plugin that condenses the oldest turns into a summary (operation compact). For a stored conversation it runs in the background. While it fails, one line per turn stands for turns that left, and it is called again after a pause of 10s, which doubles up to 10m. timeout bounds one call; default: 1m."`
	HighWater     int    `key:"high_water" min:"1" doc:"When the turns have more tokens than this, the oldest are condensed. At most tokens. It needs compact. Default: three quarters of tokens."`
	LowWater      int    `key:"low_water" min:"1" doc:"How many tokens of turns then remain at most. A greater distance to high_water means fewer calls of the plugin and fewer changes to the prompt. Without compact: how many tokens remain when turns leave a full window. Default: two thirds of high_water, or tokens without compact."`
	SummaryTokens int    `key:"summary_tokens" min:"1" doc:"The maximum number of tokens of the summary. The oldest lines of a longer one are cut, with a warning. It needs compact. Default: a quarter of tokens, at least 256."`
}

// Enricher rewrites the query text: a template, or a plugin (operation enrich_query). A template must answer, unless it
// says must: false.
type Enricher struct {
	Template string `key:"template" doc:"The new query text, with the placeholders {query} and {context}. Default: the query, a blank line, \"Conversation context: \" and the context."`
	MaxItems int    `key:"max_items" min:"1" default:"5" doc:"How many memory items {context} has. The newest are used."`
	Use
}

// Shadow is the second version of a step.
type Shadow struct {
	Use   string  `key:"use,required,short" doc:"An entry of plugins.instances, or a plugin of the plugin folder."`
	Share float64 `key:"share" min:"0.01" max:"100" default:"10" doc:"Share of the calls that it gets, in percent."`
	Fuel  int64   `key:"fuel" min:"1" default:"10000000000" doc:"Fuel that it may use in a minute. Then it gets no calls until the minute is over."`
}

// Step is one stage between memory and window: a plugin, a built-in, or one or more retrievers.
type Step struct {
	Name string `key:"name,required" doc:"Shown in diagnostics, events and errors."`
	Use
	Operation   string              `key:"operation" enum:"retrieve,process,filter,rerank,transform_query,classify" doc:"The operation of the plugin. Required only if the plugin offers several."`
	Function    string              `key:"function" doc:"The function to call, for Extism modules that do not implement the plugin contract."`
	Input       host.FunctionInput  `key:"input" enum:"query,text,request" default:"query" doc:"The input of the function: query is the text of the query, text is the text of one item for each call, and request is the JSON document that plugins receive."`
	Output      host.FunctionOutput `key:"output" enum:"text,items,changes" default:"text" doc:"The output of the function: text is the text of a new item, or the new text of the item that was sent; items is a JSON array of new items; changes is the JSON document that plugins answer with. An empty output changes nothing."`
	Priority    int                 `key:"priority" min:"1" doc:"Steps with lower priority run earlier. Steps with equal priority run in the order of this list. Default: the priority in the plugin's manifest, else 20 for a step that finds items, and 50 for any other."`
	TopK        int                 `key:"top_k" min:"1" max:"1048576" doc:"The maximum number of items that a retriever or reranker returns. Default: the value in the plugin's manifest, else 10."`
	Scope       []string            `key:"scope" enum:"retrieval,memory,user,tool,conversation" doc:"The sources whose items the step sees. The default depends on the operation. Steps never see system items."`
	Reads       []string            `key:"reads" doc:"The plugin receives only these columns and parts of the request, of those that it reads. In a step of retrievers alone it holds for each of their plugins. An empty list allows nothing."`
	Source      string              `key:"source" enum:"retrieval,memory,user,tool,conversation" doc:"Source of the items the step adds. Default: retrieval."`
	MaxPriority int                 `key:"max_priority" min:"1" max:"10" doc:"The highest priority the step may give."`
	Retrievers  []Member            `key:"retrievers" max:"1000" doc:"Plugins, or names of entries of retrievers at the top level, that run at the same time and whose results are merged. They form a step that uses nothing itself, or are called with each variant of the query where the step uses a plugin with transform_query. Results with the same key are duplicates; without a key, results with the same text are."`
	Fusion      string              `key:"fusion" enum:"weighted,rrf,round_robin" doc:"How the results of retrievers are merged. weighted scales the scores of each retriever to 0 to 1 and takes the weighted mean; rrf uses ranks (reciprocal rank fusion); round_robin takes one result of each retriever in turn. Default: weighted."`
	Shadow      *Shadow             `key:"shadow" doc:"A second version of a step that uses one plugin. It gets copies of some calls after the first version has answered, and what both return is compared. It changes no build."`
	Classifier  *Classifier         `key:"classifier" doc:"Chooses a route for each query by keywords, without a plugin."`
	Routes      map[string]Plain    `key:"routes" doc:"For classify and classifier: the retriever of each label."`
	Default     string              `key:"default" doc:"For classify and classifier: the label whose route is used for labels without a route, and for queries without a keyword. Without it the step fails for these."`
}

// Classifier chooses a label for a query without a plugin.
type Classifier struct {
	Keywords Keywords `key:"keywords,required" doc:"The keywords of each label. They match anywhere in the query, even inside words, in upper or lower case. The first label in the file with a match is chosen."`
}

// Keywords are the keywords of labels, in the order of the file.
type Keywords []pipeline.KeywordRule

// UnmarshalNode decodes a map from labels to lists of keywords.
func (k *Keywords) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind != strict.Map {
		d.Fail(n, path, "want a map from labels to lists of keywords")
		return
	}
	for i := range n.Entries() {
		e := &n.Entries()[i]
		rule := pipeline.KeywordRule{Label: e.Key}
		d.Value(&e.Value, reflect.ValueOf(&rule.Keywords).Elem(), strict.Join(path, e.Key))
		*k = append(*k, rule)
	}
}

// JSONSchema states the map.
func (*Keywords) JSONSchema() map[string]any {
	return strict.Schema(reflect.TypeFor[map[string][]string]())
}

// PluginNames returns the names of the instances and plugins that retrieve, also beside a step. The ids of their
// items begin with these names.
func (c *Config) PluginNames() (names []string) {
	for name := range c.Plugins.Instances {
		names = append(names, name)
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		names = append(names, s.Use.Name)
		if s.Shadow != nil {
			names = append(names, s.Shadow.Use)
		}
		for j := range s.Retrievers {
			names = append(names, s.Retrievers[j].Name)
		}
		for _, r := range s.Routes {
			names = append(names, r.Name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !c.IsPlugin(name) || IsBuiltinStep(name) })
}

// Pipeline is a named pipeline. Each key that it states overrides the same key at the top level
// of the file. In sections it does so key by key.
type Pipeline struct {
	// keys are the paths of the stated keys, such as steps or window.fit. A key with the value null removes
	// the value of the top level.
	keys   []string
	values Config
}
