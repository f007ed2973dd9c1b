package steps

import (
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// Options say how a plugin's operation takes its place in a build.
type Options struct {
	// Step is the name of the step, for errors and logs.
	Step string
	// TopK is the most items of retrieve and rerank. 0: the manifest's default,
	// else pipeline.DefaultTopK.
	TopK int
	// Priority is the priority of a Provider.
	Priority int
	// IDs is what the ids of items that the guest adds begin with, before a colon and the
	// guest's key. Empty: the name of the plugin. Retrievers that give an item the same
	// key find the same item where they have the same IDs.
	IDs string
	// Settings travel with each call, checked against the operation's schema.
	Settings map[string]any
	// Scope are the sources whose items the guest sees, never system. Empty:
	// the operation's default.
	Scope []pipeline.Source
	// Source is the source of items the guest adds. Empty: retrieval, or for
	// memory the guest's choice of memory and conversation.
	Source pipeline.Source
	// MaxPriority is the highest priority of items the guest adds or edits. 0:
	// the default priority of their source. The manifest may ask for less.
	MaxPriority int
	// Reads narrows what the guest receives to the columns and the parts of the request in
	// this list that the manifest reads too, see [abi.NarrowedReads]. nil: all the manifest reads.
	Reads []string
	// Timeout bounds one call of this step. 0: the plugin's limit, which it
	// cannot exceed.
	Timeout time.Duration
}

// FunctionOptions say how a function of a foreign module takes its place in a build, see
// [host.FunctionOptions].
type FunctionOptions struct {
	Options
	// Input is what the function is sent.
	Input host.FunctionInput
	// Output is what it answers. host.InputText allows only host.OutputText.
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

// prepare makes an operation ready to be called in a build.
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

// called are the options of the calls.
func (o *Options) called() host.OperationOptions {
	return host.OperationOptions{Step: o.Step, TopK: o.TopK, Settings: o.Settings, Source: string(o.Source),
		MaxPriority: o.MaxPriority, Reads: o.Reads, Timeout: o.Timeout}
}

// placed checks what a pipeline demands of the options, and returns the scope.
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

// refuse makes the error of an answer that the pipeline has no use for.
func (o *operation) refuse(format string, args ...any) error {
	return &host.PluginError{Plugin: o.module.Plugin, Step: o.step, Operation: o.op,
		Code: abi.ReasonInvalidOutput, Err: fmt.Errorf(format, args...)}
}
