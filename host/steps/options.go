package steps

import (
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// Options configure an operation of a plugin as a part of a build.
type Options struct {
	// Step is the name of the step, for errors and logs.
	Step string
	// TopK is the largest number of items of retrieve and rerank. 0 means the default of
	// the manifest, or else pipeline.DefaultTopK.
	TopK int
	// Priority is the priority of a Provider.
	Priority int
	// IDs is the beginning of the ids of items that the guest adds. A colon and the guest's
	// key follow. Empty means the name of the plugin. If two retrievers have the same IDs,
	// items with the same key are the same item.
	IDs string
	// Settings are sent with each call. They are checked against the operation's schema.
	Settings map[string]any
	// Scope are the sources whose items the guest sees. The source system is not allowed.
	// Empty means the operation's default.
	Scope []pipeline.Source
	// Source is the source of items that the guest adds. Empty means retrieval. For the
	// operation memory, the guest then chooses memory or conversation.
	Source pipeline.Source
	// MaxPriority is the highest priority of items that the guest adds or edits. 0 means
	// the default priority of their source. The manifest may ask for less.
	MaxPriority int
	// Reads narrows what the guest receives to the columns and the parts of the request in
	// this list that the manifest also reads, see [abi.NarrowedReads]. nil means all that
	// the manifest reads.
	Reads []string
	// Timeout bounds one call of this step. 0 means the plugin's limit, and the timeout
	// cannot exceed that.
	Timeout time.Duration
}

// FunctionOptions configure a function of a foreign module as a part of a build, see
// [host.FunctionOptions].
type FunctionOptions struct {
	Options
	// Input is the form of the function's input.
	Input host.FunctionInput
	// Output is the form of the function's output. host.InputText allows only
	// host.OutputText.
	Output host.FunctionOutput
}

// operation is an operation of a plugin that is called in a build.
type operation struct {
	*host.Operation
	op     abi.Operation
	step   string
	scope  scope
	module explain.ModuleInfo
	ids    string // see Options.IDs
}

// prepare checks the options and returns an operation that a build can call.
func prepare(p *host.Plugin, op abi.Operation, o Options) (*operation, error) {
	called, err := p.Operation(op, o.called())
	if err != nil {
		return nil, err
	}
	s, err := o.placed(op)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %s: %w", p.Name(), op, err)
	}
	return &operation{Operation: called, op: op, step: o.Step, scope: s, module: moduleOf(p), ids: o.IDs}, nil
}

// called returns the options for the calls.
func (o *Options) called() host.OperationOptions {
	return host.OperationOptions{Step: o.Step, TopK: o.TopK, Settings: o.Settings, Source: string(o.Source),
		MaxPriority: o.MaxPriority, Reads: o.Reads, Timeout: o.Timeout}
}

// placed checks the options that only a pipeline knows, and returns the scope.
func (o *Options) placed(op abi.Operation) (s scope, err error) {
	if o.Source != "" && !o.Source.Valid() {
		return 0, fmt.Errorf("source %q: %w (want a source other than system)", o.Source, host.ErrConfig)
	}
	if len(o.Scope) == 0 {
		return defaultScope(op), nil
	}
	for _, src := range o.Scope {
		if !src.Valid() || src == pipeline.SourceSystem {
			return 0, fmt.Errorf("scope: source %q: %w (want sources other than system)", src, host.ErrConfig)
		}
		s = s.with(src)
	}
	return s, nil
}

// refuse returns the error for an answer that the pipeline cannot use.
func (o *operation) refuse(format string, args ...any) error {
	return &host.PluginError{Plugin: o.module.Plugin, Step: o.step, Operation: o.op,
		Code: abi.ReasonInvalidOutput, Err: fmt.Errorf(format, args...)}
}

// moduleOf returns the name and version of a plugin, for traces.
func moduleOf(p *host.Plugin) explain.ModuleInfo {
	return explain.ModuleInfo{Plugin: p.Name(), Module: p.Spec().Digest}
}
