package config

import (
	"reflect"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Store says where conversations, facts and agent runs are kept.
type Store struct {
	Path        string `key:"path" doc:"File of the store. Default: anchor-host/store.db in the data folder of the user."`
	Synchronous string `key:"synchronous" enum:"full,normal" default:"full" doc:"When a change counts as stored: full waits until the disk has it; normal survives the end of the process, but a power cut may take the last changes."`
}

// Facts says which facts of the store a build is offered.
type Facts struct {
	MaxItems int        `key:"max_items" min:"1" default:"5" doc:"The most facts: those that matter most to the query."`
	MinScore float64    `key:"min_score" min:"0" max:"1" default:"0" doc:"Leaves out facts that matter less."`
	User     string     `key:"user" doc:"Only facts of this user."`
	Session  string     `key:"session" doc:"Only facts of one session."`
	Type     string     `key:"type" enum:"semantic,episodic,procedural,conversation" doc:"Only facts of this type."`
	Tags     []string   `key:"tags" doc:"Only facts that have all of these tags."`
	Graph    *FactGraph `key:"graph" doc:"Also offers facts about the entities that the query mentions, and about those around them (see memory graph). {} takes the defaults."`
	Extract  *Extract   `key:"extract" doc:"Takes facts from the turns of stored conversations, and puts facts in order."`
}

// FactGraph says which facts a graph leads to.
type FactGraph struct {
	MaxDepth *int `key:"max_depth" min:"0" max:"10" doc:"How many relations to follow from an entity of the query; 0 stays with its own facts. Default: 2."`
	MaxItems int  `key:"max_items" min:"1" default:"5" doc:"The most facts, besides those of facts."`
}

// Extract names the plugin that takes facts from turns.
type Extract struct {
	Plugin   string         `key:"plugin" doc:"Name of a plugin that needs no configuration (operation extract)."`
	Instance string         `key:"instance" doc:"Name of an entry of instances."`
	Settings map[string]any `key:"settings" doc:"Settings of this use."`
	Timeout  Duration       `key:"timeout" doc:"Bound of one call."`
	Reads    []string       `key:"reads" doc:"Narrows what the plugin receives to these parts of the request."`
	Every    *int           `key:"every" min:"0" doc:"When a build remembers its query and so many turns were added since the last time, facts are taken from them after the build. 0: only memory promote does. Default: 10."`
	Known    *int           `key:"known" min:"0" max:"1000" doc:"How many facts of the same user and session the plugin sees beside the turns: those that matter most to them. Default: 20."`
}

// Use returns the plugin.
func (e *Extract) Use() Use {
	return Use{Plugin: e.Plugin, Instance: e.Instance, Settings: e.Settings, Timeout: e.Timeout, Reads: e.Reads}
}

// DefaultEvery is how many turns are added before facts are taken from them.
const DefaultEvery = 10

// Agent describes the provider chain of assemble: its budget, and the built-in
// providers, each with a switch.
type Agent struct {
	MaxTokens   int         `key:"max_tokens" min:"1" doc:"The most tokens of the messages for the model. Default: max_tokens of the window."`
	MaxMessages int         `key:"max_messages" min:"1" doc:"The most messages. Default: no bound."`
	Phase       string      `key:"phase" enum:"llm,synthesize" default:"llm" doc:"What the messages are for: a model call of the loop, or the final answer."`
	Frames      Offer       `key:"frames" doc:"Offers the frames of a run as observations (priority 5): true, false, or how many."`
	Observation Observation `key:"observation" doc:"Puts observations and reflection of the state before the conversation, and writes that back (priority 10): true, false, or a map that also says how they are made. The switch is that of all."`
	Compaction  Compaction  `key:"compaction" doc:"Puts a summary in the place of old messages, and writes that back (priority 20)."`
	Truncation  *bool       `key:"truncation" default:"true" doc:"Leaves out the oldest messages that do not fit, for this call only (priority 30)."`
	Enforce     *bool       `key:"enforce" doc:"Truncates once more after all providers. Default: as truncation."`
	Begin       string      `key:"begin" enum:"any,user" default:"any" doc:"Whose message may come first in a list that was truncated or compacted: user leaves out those before the first one of the user, instructions excepted, for APIs that refuse others."`
	Plan        bool        `key:"plan" default:"false" doc:"Asks providers for estimates first, and keeps room for what later ones add."`
	Timeout     Duration    `key:"timeout" default:"10s" doc:"Bound of one provider that states none."`
}

// Offer says which frames of a run an agent is offered. In a file it may be true or
// false, which stands for its switch alone.
type Offer struct {
	Enabled   *bool `key:"enabled" default:"true"`
	MaxFrames int   `key:"max_frames" min:"1" max:"4294967295" default:"50" doc:"The most frames: protected ones, and the newest others."`
	MaxTokens int   `key:"max_tokens" min:"1" doc:"The most tokens they take as observations. Default: a quarter of the budget."`
}

// offer is an Offer without methods.
type offer Offer

// UnmarshalNode decodes either shape. A switch alone becomes the map that it stands for,
// so that its place in the file is found under the path of the value.
func (o *Offer) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	decodeSwitch(d, n, (*offer)(o), path)
}

// JSONSchema states either shape.
func (o *Offer) JSONSchema() map[string]any { return switchSchema(reflect.TypeFor[offer]()) }

// decodeSwitch decodes a section that may be its switch alone.
func decodeSwitch(d *strict.Decoder, n *strict.Node, into any, path string) {
	if n.Kind == strict.Bool {
		value := *n
		*n = strict.Node{Kind: strict.Map, Pos: n.Pos, Entries: []strict.Entry{{Key: "enabled", Pos: n.Pos, Value: &value}}}
	}
	if n.Kind != strict.Map {
		d.Fail(n, path, "want true, false or a map")
		return
	}
	d.Into(n, into, path)
}

func switchSchema(t reflect.Type) map[string]any {
	return map[string]any{"oneOf": []any{map[string]any{"type": "boolean"}, strict.Schema(t)}}
}

// RunFrames says which frames of the store a build is offered.
type RunFrames struct {
	Run       string `key:"run,required" doc:"The agent run, as named with frames push --run."`
	MaxFrames int    `key:"max_frames" min:"1" max:"4294967295" default:"50" doc:"The most frames: protected ones, and the newest others."`
	MaxTokens int    `key:"max_tokens" min:"1" doc:"The most tokens of the frames, by their estimates; protected ones always stay. Default: no bound but the window."`
	Data      bool   `key:"data" default:"false" doc:"Offers the data of the frames below their summaries."`
}

// Observation describes the built-in observation provider, and those that make observations
// and reflections. In a file it may be true or false, which stands for its switch alone.
type Observation struct {
	Enabled          *bool    `key:"enabled" default:"true"`
	Make             Choice   `key:"make" default:"off" doc:"Turns old messages into observations (priority 7): off, builtin for one line per message, or a plugin (operation distill)."`
	HighWater        int      `key:"high_water" min:"1" doc:"The tokens of the conversation above which its oldest messages become observations. Default: half of the budget."`
	LowWater         int      `key:"low_water" min:"1" doc:"The tokens of the conversation that then stay. Default: half of high_water."`
	Reflect          Choice   `key:"reflect" default:"builtin" doc:"Turns old observations into a reflection (priority 8): builtin for a list of them, or a plugin (operation distill)."`
	ReflectHighWater int      `key:"reflect_high_water" min:"1" doc:"The tokens of the observations above which the oldest become a reflection. Default: half of high_water."`
	ReflectLowWater  int      `key:"reflect_low_water" min:"1" doc:"The tokens of observations that then stay. Default: half of reflect_high_water."`
	Timeout          Duration `key:"timeout" doc:"Bound of each of the two. Default: that of the chain, or 1m with a plugin."`
}

// Makes are the names that make may have, Reflects those of reflect.
var (
	Makes    = []string{"off", "builtin"}
	Reflects = []string{"builtin"}
)

// Made says whether observations are made. The switch is that of all three providers.
func (o *Observation) Made() bool {
	return On(o.Enabled) && (o.Make.Use != nil || o.Make.Name == "builtin")
}

// observation is an Observation without methods.
type observation Observation

// UnmarshalNode decodes either shape; see [Offer.UnmarshalNode].
func (o *Observation) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	decodeSwitch(d, n, (*observation)(o), path)
}

// JSONSchema states either shape.
func (o *Observation) JSONSchema() map[string]any {
	return switchSchema(reflect.TypeFor[observation]())
}

// Compaction describes the built-in compaction provider. In a file it may be true or
// false, which stands for its switch alone.
type Compaction struct {
	Enabled         *bool    `key:"enabled" default:"true"`
	TriggerTokens   int      `key:"trigger_tokens" min:"1" doc:"Messages are compacted above this. Default: three quarters of the budget."`
	TriggerMessages int      `key:"trigger_messages" min:"1" doc:"The same for their number."`
	KeepTokens      int      `key:"keep_tokens" min:"1" doc:"What stays, without the summary. Default: half of the trigger."`
	KeepMessages    int      `key:"keep_messages" min:"1" doc:"The same for their number."`
	Compact         *Use     `key:"compact" doc:"A plugin that writes the summary (operation compact). Default: a digest, one line per message."`
	Timeout         Duration `key:"timeout" doc:"Bound of one compaction. Default: that of the chain, or 1m with a plugin."`
}

// compaction is a Compaction without methods.
type compaction Compaction

// UnmarshalNode decodes either shape, as that of [Offer] does.
func (c *Compaction) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	decodeSwitch(d, n, (*compaction)(c), path)
}

// JSONSchema states either shape.
func (c *Compaction) JSONSchema() map[string]any { return switchSchema(reflect.TypeFor[compaction]()) }

// Provider is a context provider of an agent loop.
type Provider struct {
	Name     string         `key:"name" doc:"Shown in diagnostics; unique. Default: the name of the instance or plugin."`
	Plugin   string         `key:"plugin" doc:"Name of a plugin that needs no configuration."`
	Instance string         `key:"instance" doc:"Name of an entry of instances."`
	Priority int            `key:"priority,required" min:"1" doc:"Lower runs earlier; the built-in ones are at 5, 7, 8, 10, 20 and 30."`
	Settings map[string]any `key:"settings" doc:"Settings of this use."`
	Timeout  Duration       `key:"timeout" doc:"Bound of one call. One that fails changes nothing, and the next one runs."`
	Reads    []string       `key:"reads" doc:"Narrows what the plugin receives to these columns and parts of the request; an empty list allows nothing."`
}

// Use returns the plugin of the provider.
func (p *Provider) Use() Use {
	return Use{Plugin: p.Plugin, Instance: p.Instance, Settings: p.Settings, Timeout: p.Timeout, Reads: p.Reads}
}

// Title returns the name of the provider in the chain.
func (p *Provider) Title() string {
	switch {
	case p.Name != "":
		return p.Name
	case p.Instance != "":
		return p.Instance
	}
	return p.Plugin
}

// On says whether a switch that is on by default is on.
func On(b *bool) bool { return b == nil || *b }

// Enforced says whether the chain truncates after all providers.
func (a *Agent) Enforced() bool {
	if a.Enforce != nil {
		return *a.Enforce
	}
	return On(a.Truncation)
}
