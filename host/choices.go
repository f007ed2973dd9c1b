package host

import (
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/host/internal/choice"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Each type here is a choice between a few words, which are the same in Go, YAML and JSON.
// The zero value leaves the choice to the host. Any other value is an error.

// An Engine runs modules.
type Engine string

const (
	// EngineAuto is the engine of Config.Engine, and there EngineCompiler.
	EngineAuto Engine = ""
	// EngineCompiler compiles modules to machine code where wazero can, and interprets them
	// elsewhere.
	EngineCompiler Engine = "compiler"
	// EngineInterpreter interprets modules, many times slower.
	EngineInterpreter Engine = "interpreter"
)

// A Lane is the form in which a request and its answer travel. All lanes mean the same.
type Lane = spec.Lane

const (
	// LaneAuto is LaneBatch where the operation has it, otherwise LaneJSON.
	LaneAuto Lane = ""
	// LaneJSON takes one document each way, in the guest's memory if the guest takes
	// documents there, otherwise through Extism's functions.
	LaneJSON = spec.LaneJSON
	// LaneBatch takes columns, written straight into the guest's memory.
	LaneBatch = spec.LaneBatch
	// LaneExtism is LaneJSON as every Extism host uses it: the document is the Extism input,
	// even if the guest takes documents through its mailbox. Only [Plugin.Exchange] takes
	// it.
	LaneExtism Lane = "extism"
)

// A State says what happens to the state of an instance between calls. What must outlive a
// call belongs into the key-value store; see [KVGrant].
type State string

const (
	// StateAuto is StateReset for plugins that speak the ABI, and StateKeep for foreign
	// modules, whose statics and variables last by contract.
	StateAuto State = ""
	// StateReset resets an instance to the image, what it was after init: memory, its size,
	// globals, Extism variables and the last HTTP response. So no call finds anything of an
	// earlier one.
	//
	// The image also holds the random numbers that init drew: hash seeds, map order and the
	// sequence of math/rand are the same in every call. Clocks and the random numbers of
	// WASI are live, unless the plugin is Deterministic.
	//
	// A module gets StateFresh instead if it writes to its tables, drops segments, has
	// mutable globals that are references, or leaves files open in its init.
	StateReset State = "reset"
	// StateKeep leaves everything as it is for the next call of the instance, which then
	// serves one tenant only; see [WithTenant]. The state is lost, and a warning logged, when a
	// call fails or the memory has grown by three quarters of what the limit leaves. A
	// [Session] always keeps its state.
	StateKeep State = "keep"
	// StateFresh makes a new instance for every call, with an init of its own.
	StateFresh State = "fresh"
)

// A FileMode says what a plugin may do in the folder of a [FileGrant].
type FileMode string

const (
	// ModeRO lets the plugin read. The zero value means it, too.
	ModeRO FileMode = "ro"
	// ModeRW lets the plugin read and write.
	ModeRW FileMode = "rw"
)

// A FunctionInput is what a function of a foreign module is sent; see [FunctionOptions].
type FunctionInput string

const (
	// InputQuery is the text of the query. The zero value means it, too.
	InputQuery FunctionInput = "query"
	// InputText is the text of one item. The function is called once for each item.
	InputText FunctionInput = "text"
	// InputRequest is the JSON document that plugins receive: query, items, top_k,
	// tokens_left and settings.
	InputRequest FunctionInput = "request"
)

// A FunctionOutput is what a function of a foreign module answers; see [FunctionOptions].
// An empty answer changes nothing.
type FunctionOutput string

const (
	// OutputText is a text. With InputText it is the new text of the item, otherwise the
	// text of a new item. The zero value means it, too.
	OutputText FunctionOutput = "text"
	// OutputItems is a JSON array of new items, in the form in which plugins add them.
	OutputItems FunctionOutput = "items"
	// OutputChanges is the JSON document of changes with which plugins answer.
	OutputChanges FunctionOutput = "changes"
)

// The words of each choice that a configuration may state.
var (
	engines = []Engine{EngineCompiler, EngineInterpreter}
	lanes   = []Lane{LaneJSON, LaneBatch}
	states  = []State{StateReset, StateKeep, StateFresh}
	modes   = []FileMode{ModeRO, ModeRW}
	inputs  = []FunctionInput{InputQuery, InputText, InputRequest}
	outputs = []FunctionOutput{OutputText, OutputItems, OutputChanges}
)

// UnmarshalText takes compiler or interpreter. Its error names the words that there are.
func (e *Engine) UnmarshalText(text []byte) error { return choice.Decode(e, text, engines) }

// UnmarshalText takes reset, keep or fresh. Its error names the words that there are.
func (s *State) UnmarshalText(text []byte) error { return choice.Decode(s, text, states) }

// UnmarshalText takes ro or rw. Its error names the words that there are.
func (m *FileMode) UnmarshalText(text []byte) error { return choice.Decode(m, text, modes) }

// UnmarshalText takes query, text or request. Its error names the words that there are.
func (i *FunctionInput) UnmarshalText(text []byte) error { return choice.Decode(i, text, inputs) }

// UnmarshalText takes text, items or changes. Its error names the words that there are.
func (o *FunctionOutput) UnmarshalText(text []byte) error { return choice.Decode(o, text, outputs) }

// checkChoice refuses a value that is neither zero nor one of the words. Its error wraps
// ErrConfig.
func checkChoice[T ~string](what string, given T, words []T) error {
	if given == "" || slices.Contains(words, given) {
		return nil
	}
	return fmt.Errorf("%s %q: %w (want %s)", what, guesttext.Clip(string(given), 64), ErrConfig, choice.List(words))
}
