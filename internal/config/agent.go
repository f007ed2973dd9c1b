package config

import (
	"cmp"
	"reflect"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Store says where conversations, facts and agent runs are stored.
type Store struct {
	Path        string   `key:"path" doc:"File of the store, or the URL of a PostgreSQL database that hosts share: postgres://USER@HOST/DATABASE. Default: anchor-host/store.db in the data folder of the user."`
	Pool        int      `key:"pool" min:"0" max:"1000" default:"16" doc:"The greatest number of connections to the database."`
	Timeout     Duration `key:"timeout" default:"10s" doc:"How long the database may take for a statement, and a call may wait for a connection."`
	Replica     string   `key:"replica" doc:"URL of a replica of the database. Lists that may be some seconds old are read there. Default: the database itself."`
	Synchronous string   `key:"synchronous" enum:"full,normal" default:"full" doc:"When a change counts as stored: full waits until the disk has it; normal survives the end of the process, but a power cut may take the last changes."`
	KV          string   `key:"kv" enum:"store,memory" default:"store" doc:"Where values of plugins (grants.kv) are kept: store keeps them in the store; memory loses them with the process and with each reload."`
	Keep        *Keep    `key:"keep" doc:"How long the store keeps things. A service deletes what is older every hour, and memory gc at once. Default: until something deletes it."`
}

// Keep says how long the store keeps things. 0: until something deletes them.
type Keep struct {
	Conversations Age `key:"conversations" doc:"The age of the newest turn at which a conversation is deleted, such as 90d. Default: never."`
	Runs          Age `key:"runs" doc:"The age of the newest record at which an agent run is deleted. Default: never."`
	Facts         Age `key:"facts" doc:"The time since its last use at which a fact is deleted; one that was never used counts from its creation. Default: never."`
}

// Facts selects the facts of the store that are offered to a build.
type Facts struct {
	MaxItems    int        `key:"max_items" min:"1" default:"5" doc:"The maximum number of facts. Those that match the query best are chosen."`
	MinScore    float64    `key:"min_score" min:"0" max:"1" default:"0" doc:"Leaves out facts with a lower score."`
	User        string     `key:"user" doc:"Only facts of this user. Default: only facts that belong to nobody."`
	RequireUser bool       `key:"require_user" doc:"Refuses builds that name no user, so that a missing user is an error."`
	Session     string     `key:"session" doc:"Only facts of the session with this name. If neither user nor session is set, a build with a stored conversation sees facts without a session and facts of the session with the name of the conversation."`
	Type        string     `key:"type" enum:"semantic,episodic,procedural,conversation" doc:"Only facts of this type."`
	Tags        []string   `key:"tags" doc:"Only facts that have all of these tags."`
	Embedder    string     `key:"embedder" doc:"Name of an entry of embedders, which makes the vectors of facts and queries. Facts are then also found by their meaning, and ranked by it. If it fails, a build goes on with words, and logs a warning. Default: none; facts are found by words."`
	Graph       *FactGraph `key:"graph" doc:"Also offers facts about entities that the query mentions, and about related entities (see memory graph). {} takes the defaults."`
	Extract     *Extract   `key:"extract" doc:"The plugin or model that extracts facts from the turns of stored conversations, and merges and removes facts. The facts belong to facts.user and facts.session. If neither is set, a fact belongs to the session with the name of its conversation, and only builds with this conversation see it."`
	// Consolidate replaces extract for memory consolidate.
	Consolidate *Consolidate `key:"consolidate" doc:"The model that merges and removes facts (memory consolidate). Default: the plugin or model of extract."`
}

// Consolidate names the model that merges and removes facts.
type Consolidate struct {
	Model string `key:"model,required" doc:"Name of an entry of models."`
}

// FactGraph says which facts are found through the graph.
type FactGraph struct {
	MaxDepth *int `key:"max_depth" min:"0" max:"10" doc:"How many relations to follow from an entity of the query. 0: only facts about the entity itself. Default: 2."`
	MaxItems int  `key:"max_items" min:"1" default:"5" doc:"The maximum number of facts from the graph, in addition to facts.max_items."`
}

// Extract names the plugin (operation extract) or the model that extracts facts from turns.
type Extract struct {
	Model string `key:"model" doc:"Name of an entry of models, which is asked instead of a plugin. Its budgets hold for each promotion, as for a build."`
	Plain
	Every *int `key:"every" min:"0" doc:"Facts are extracted after a build that remembers its query, once this many turns were added since the last extraction. 0: only memory promote extracts facts. Default: 10."`
	Known *int `key:"known" min:"0" max:"1000" doc:"How many known facts of the same user and session the plugin also sees. Those that match the turns best are chosen. Default: 20."`
}

// DefaultEvery is the default number of new turns after which facts are extracted.
const DefaultEvery = 10

// Agent configures the provider chain of assemble: its budget, and the built-in providers with
// their switches.
type Agent struct {
	MaxTokens   int         `key:"max_tokens" min:"1" doc:"The maximum number of tokens of the messages for the model. Default: window.max_tokens."`
	MaxMessages int         `key:"max_messages" min:"1" doc:"The maximum number of messages. Default: no limit."`
	Frames      Offer       `key:"frames" doc:"Offers the frames of a run as observations (priority 5): true, false, or a map with limits."`
	Observation Observation `key:"observation" doc:"Inserts the observations and the reflection of the state before the conversation, and stores the result in the state (priority 10): true, false, or a map that also says how they are made. The switch enabled also holds for the providers that make them."`
	Compaction  Compaction  `key:"compaction" doc:"When the messages exceed the budget, cuts large results, then replaces old messages with a summary, and stores the result in the state (priority 20)."`
	Truncation  *bool       `key:"truncation" default:"true" doc:"Leaves out the oldest messages if not all fit. The state keeps them (priority 30)."`
	Begin       string      `key:"begin" enum:"any,user" default:"any" doc:"Which role may come first in a list that was truncated or compacted. user leaves out messages before the first user message, except instructions; some APIs require this."`
	Plan        bool        `key:"plan" default:"false" doc:"First asks each provider how many tokens it will add, and reserves room for later providers."`
	Timeout     Duration    `key:"timeout" default:"10s" doc:"Time limit of each provider that has no timeout of its own."`
	Hooks       Hooks       `key:"hooks" doc:"What the hooks of coding agents add (anchor-host hook)."`
	Providers   []Provider  `key:"providers" doc:"Plugins that change the messages of an agent before a model call (operation provide)."`
}

// Hooks says what the hooks of coding agents add to a session.
type Hooks struct {
	MaxChars  int               `key:"max_chars" min:"1" max:"10000" default:"9000" doc:"The maximum number of characters that one event adds. Clients take 10,000."`
	ToolChars int               `key:"tool_chars" min:"1" default:"16000" doc:"Texts in the result of a tool that are longer lose their middle, and get a handle in its place."`
	Timeout   Duration          `key:"timeout" default:"2s" doc:"Time limit of an event. A late event changes nothing."`
	Pipelines map[string]string `key:"pipelines" doc:"Names of pipelines whose items are added, by event: session_start, prompt or subagent_start. Default: none."`
}

// Offer selects the frames of a run that are offered to an agent. In a file it may be true or
// false, which sets only its switch.
type Offer struct {
	Enabled   *bool `key:"enabled,short" default:"true"`
	MaxFrames int   `key:"max_frames" min:"1" max:"4294967295" default:"50" doc:"The maximum number of frames: protected frames, and the newest others."`
	MaxTokens int   `key:"tokens" min:"1" doc:"The maximum number of tokens of these observations. Default: a quarter of the budget."`
}

// RunFrames selects the frames of the store that are offered to a build.
type RunFrames struct {
	Run       string `key:"run,required" doc:"The name of the agent run, as in frames push --run."`
	MaxFrames int    `key:"max_frames" min:"1" max:"4294967295" default:"50" doc:"The maximum number of frames: protected frames, and the newest others."`
	MaxTokens int    `key:"tokens" min:"1" doc:"The maximum number of estimated tokens of the frames. Protected frames are always kept. Default: only the window limits them."`
	Data      bool   `key:"data" default:"false" doc:"Appends the data of each frame to its summary."`
}

// Observation configures the built-in observation provider, and the providers that make
// observations and reflections. In a file it may be true or false, which sets only its switch.
type Observation struct {
	Enabled   *bool      `key:"enabled,short" default:"true"`
	Make      Maker      `key:"make" default:"off" doc:"Turns old messages into observations (priority 7): off, builtin for one line per message, or a plugin (operation distill)."`
	HighWater int        `key:"high_water" min:"1" doc:"When the conversation has more tokens than this, its oldest messages become observations. Default: half of the budget."`
	LowWater  int        `key:"low_water" min:"1" doc:"How many tokens of the conversation then remain. Default: half of high_water."`
	Reflect   Reflection `key:"reflect" default:"builtin" doc:"Turns old observations into a reflection (priority 8): builtin for a list of them, or a plugin (operation distill)."`
	Timeout   Duration   `key:"timeout" doc:"Time limit of each of the two providers. Default: agent.timeout, or 1m with a plugin."`
}

// Makes are the valid names for make, and Reflects those for reflect.
var (
	Makes    = []string{"off", "builtin"}
	Reflects = []string{"builtin"}
)

// Made reports whether observations are made. The switch enabled holds for all three providers.
func (o *Observation) Made() bool {
	return On(o.Enabled) && (o.Make.Use != nil || o.Make.Name == "builtin")
}

// Maker is a [Choice] that has no fallback and is no file.
type Maker struct{ Choice }

// UnmarshalNode decodes a name, or a map with more.
func (m *Maker) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	var u replaceable
	m.bare = n.Kind == strict.String
	d.Value(n, reflect.ValueOf(&u.Use).Elem(), path)
	m.take(d, n, path, &u)
}

// JSONSchema describes both forms.
func (m *Maker) JSONSchema() map[string]any { return strict.Schema(reflect.TypeFor[Use]()) }

// Reflection says how a reflection is made, and when.
type Reflection struct {
	Maker
	marks
}

// marks say when a reflection is made.
type marks struct {
	HighWater int `key:"high_water" min:"1" doc:"When the observations have more tokens than this, the oldest become a reflection. Default: half of that of observation."`
	LowWater  int `key:"low_water" min:"1" doc:"How many tokens of observations then remain. Default: half of high_water."`
}

// reflection is the map of a Reflection.
type reflection struct {
	Use
	marks
}

// UnmarshalNode decodes a name, or a map with more.
func (r *Reflection) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	var m reflection
	r.bare = n.Kind == strict.String
	d.Value(n, reflect.ValueOf(&m).Elem(), path)
	r.take(d, n, path, &replaceable{Use: m.Use})
	r.marks = m.marks
}

// JSONSchema describes both forms.
func (r *Reflection) JSONSchema() map[string]any { return strict.Schema(reflect.TypeFor[reflection]()) }

// Compaction configures the built-in compaction provider. In a file it may be true or false,
// which sets only its switch.
type Compaction struct {
	Enabled           *bool    `key:"enabled,short" default:"true"`
	HighWater         int      `key:"high_water" min:"1" doc:"Compaction starts when the messages have more tokens than this. Default: the budget."`
	LowWater          int      `key:"low_water" min:"1" doc:"How many tokens of messages remain, without the summary. Default: half of high_water. Without high_water: the budget is filled, and nine sixteenths of it if the list goes on growing; with a plugin, three eighths."`
	HighWaterMessages int      `key:"high_water_messages" min:"1" doc:"Compaction also starts when there are more messages than this. Default: max_messages."`
	LowWaterMessages  int      `key:"low_water_messages" min:"1" doc:"How many messages remain, without the summary. Default: half of high_water_messages."`
	Compact           *Plain   `key:"compact" doc:"A plugin that writes the summary (operation compact). Default: a digest, one line per message."`
	Timeout           Duration `key:"timeout" doc:"Time limit of one compaction. Default: agent.timeout, or 1m with a plugin."`
}

// Provider is a context provider of an agent loop.
type Provider struct {
	Name     string `key:"name" doc:"Shown in diagnostics; unique. Default: the name of what it uses."`
	Priority int    `key:"priority,required" min:"1" doc:"Providers with lower priority run earlier. The built-in ones have 5, 7, 8, 10, 20 and 30. A provider that fails changes nothing, and the next one runs, unless it must answer."`
	Use
}

// Title returns the name of the provider in the chain.
func (p *Provider) Title() string { return cmp.Or(p.Name, p.Use.Name) }

// On returns the value of a switch whose default is true.
func On(b *bool) bool { return b == nil || *b }
