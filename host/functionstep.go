package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

// What a function of a foreign module is sent, see [FunctionOptions].
const (
	// InputQuery is the text of the query.
	InputQuery = "query"
	// InputText is the text of each item, in a call of its own.
	InputText = "text"
	// InputRequest is the JSON document of a request, as plugins receive it:
	// query, items, top_k, tokens_left, settings.
	InputRequest = "request"
)

// What its output means. An empty output changes nothing.
const (
	// OutputText is a text: the new one of the item it was made of, else that of
	// a new item.
	OutputText = "text"
	// OutputItems is a JSON array of new items, as plugins add them.
	OutputItems = "items"
	// OutputChanges is the JSON document of changes, as plugins answer.
	OutputChanges = "changes"
)

// FunctionOptions say how a function of a foreign module takes its place in a
// build. Settings are sent as they are with InputRequest. Reads are the columns
// that items have there; empty: text.
type FunctionOptions struct {
	StepOptions
	// Input is InputQuery (also when empty), InputText or InputRequest.
	Input string
	// Output is OutputText (also when empty), OutputItems or OutputChanges;
	// with InputText only OutputText.
	Output string
}

// FunctionStep returns a step of a build that calls a function of a foreign
// module. What its answer may do is what a plugin may do that processes items:
// the operator's configuration stands for a manifest. A status other than 0, or
// a message, is an error. Errors wrap ErrNoOperation, ErrNoExport or ErrConfig.
// The step is safe for concurrent use.
func (p *Plugin) FunctionStep(function string, o FunctionOptions) (pipeline.Step, error) {
	s, err := p.functionStep(function, o)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: function %q: %w", p.name, function, err)
	}
	return s, nil
}

func (p *Plugin) functionStep(function string, o FunctionOptions) (*functionStep, error) {
	s := &functionStep{input: o.Input, output: o.Output}
	if s.input == "" {
		s.input = InputQuery
	}
	if s.output == "" {
		s.output = OutputText
	}
	if err := CheckFunction(p.spec, function, o.Input, o.Output); err != nil {
		return nil, err
	}
	if len(o.Settings) > 0 && s.input != InputRequest {
		return nil, fmt.Errorf("settings: %w (they are sent with input: %s only)", ErrConfig, InputRequest)
	}
	reads := abi.ColumnSet(0).With(abi.ColumnText)
	if len(o.Reads) > 0 {
		reads = abi.AllColumns // which setReads narrows
	}
	writes, err := abi.ChangesOf(functionWrites(s.input, s.output))
	if err != nil {
		return nil, err
	}
	out := &operation{plugin: p, op: abi.OpProcess, name: abi.Operation(function), step: o.Step, reads: reads,
		spec: OperationSpec{Operation: abi.OpProcess, Lanes: []string{LaneJSON}, Reads: reads, Writes: writes}}
	for _, f := range []func(StepOptions) error{out.setReads, out.setOpenSettings, out.setTimeout, out.setScope, out.setGrant} {
		if err := f(o.StepOptions); err != nil {
			return nil, err
		}
	}
	out.topK = pick(max(0, o.TopK), pipeline.DefaultTopK)
	s.o = out
	return s, nil
}

// CheckFunction refuses a step that calls a function in a way it cannot be
// called. Empty input and output are the defaults.
func CheckFunction(spec *Spec, function, input, output string) error {
	switch {
	case !spec.Foreign:
		return fmt.Errorf("%w: the plugin has operations, which a step names (function is for modules that do not speak the contract)", ErrNoOperation)
	case !slices.Contains(spec.Functions, function):
		return fmt.Errorf("%w (%s)", ErrNoExport, spec.functionHint(function))
	case function == "_start" || function == "_initialize":
		return fmt.Errorf("%w (it starts a program, which a step cannot)", ErrConfig)
	case input != "" && !slices.Contains([]string{InputQuery, InputText, InputRequest}, input):
		return fmt.Errorf("input %q: %w (want %s, %s or %s)", input, ErrConfig, InputQuery, InputText, InputRequest)
	case output != "" && !slices.Contains([]string{OutputText, OutputItems, OutputChanges}, output):
		return fmt.Errorf("output %q: %w (want %s, %s or %s)", output, ErrConfig, OutputText, OutputItems, OutputChanges)
	case input == InputText && output != "" && output != OutputText:
		return fmt.Errorf("input %s has output %s: %w (it has one text per item; for more use input: %s)", input, output, ErrConfig, InputRequest)
	}
	return nil
}

// functionStep calls a function of a foreign module.
type functionStep struct {
	o             *operation
	input, output string
}

// Isolated implements pipeline.Isolated: a guest only ever gets copies.
func (s *functionStep) Isolated() {}

// Run implements pipeline.Step.
func (s *functionStep) Run(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	v := visible(items, s.o.scope)
	var r receipt
	defer r.done(s.o.plugin)
	c, err := s.changes(ctx, &r, q, v, items)
	if err != nil || c == nil {
		return items, err
	}
	if len(c.Items) > s.o.topK {
		c.Items = c.Items[:s.o.topK]
	}
	if err := s.o.check(c, v.Len()); err != nil {
		return nil, s.o.refuse(err)
	}
	ctx, cancel := r.context(ctx)
	defer cancel()
	return s.o.apply(ctx, v, c, 0)
}

// changes calls the function and makes changes of what it returns.
func (s *functionStep) changes(ctx context.Context, r *receipt, q *pipeline.Query, v *rowView, items []pipeline.Item) (*abi.Changes, error) {
	input := []byte(q.Text)
	switch s.input {
	case InputText:
		return s.texts(ctx, r, v)
	case InputRequest:
		var err error
		env := abi.Envelope{Query: abiQuery(q), TopK: s.o.topK, TokensLeft: tokensLeft(ctx, items), Settings: s.o.settings}
		if input, err = abi.AppendItemsRequest(nil, v, s.o.reads, &env); err != nil {
			return nil, s.o.refuse(&fault{code: abi.ReasonInputTooLarge, err: err})
		}
	}
	c := &abi.Changes{}
	answered, err := s.call(ctx, r, input, func(in *instance, out []byte) error {
		switch s.output {
		case OutputText:
			text, err := in.textOf(out, "the output")
			c.Items = []abi.NewItem{{Content: text}}
			return err
		case OutputItems:
			return c.DecodeItemsWithin(out, s.o.bounds(in, v.Len()))
		}
		return c.DecodeJSONWithin(out, s.o.bounds(in, v.Len()))
	})
	if err != nil || !answered {
		return nil, err
	}
	return c, nil
}

// texts calls the function once per item. What it answers to all of them is one output,
// and all calls together have the time of one.
func (s *functionStep) texts(ctx context.Context, r *receipt, v *rowView) (*abi.Changes, error) {
	c := &abi.Changes{}
	left := s.o.plugin.limits.Output
	began := clock()
	within, cancel := context.WithTimeout(ctx, s.o.timeout) // for the waits between calls
	defer cancel()
	for row := range v.Len() {
		text := v.Text(row)
		changed := text
		_, err := s.callWithin(within, s.o.timeout-(clock()-began), r, []byte(text), func(in *instance, out []byte) (err error) {
			if left -= int64(len(out)); left < 0 {
				return faultf(abi.ReasonOutputTooLarge, "output for the rows up to %d together of more than %d bytes, allowed %[2]d", row, in.plugin.limits.Output)
			}
			if string(out) != text {
				changed, err = in.textOf(out, fmt.Sprintf("the output for row %d", row))
			}
			return err
		})
		switch {
		case err != nil && ctx.Err() == nil && clock()-began >= s.o.timeout:
			return nil, s.o.refuse(&fault{code: abi.ReasonTimeout, remedy: "raise the timeout of the step and limits.timeout, or show the function fewer items",
				err: as(context.DeadlineExceeded, fmt.Errorf("done with %d of %d items within %v, the time for all of them", row, v.Len(), s.o.timeout))})
		case err != nil:
			return nil, err
		}
		if changed != text {
			c.Edits = append(c.Edits, abi.Edit{Row: uint32(row), Content: &changed})
		}
	}
	if len(c.Edits) == 0 {
		return nil, nil
	}
	return c, nil
}

// call calls the function with one input and has its output read, unless it is empty.
func (s *functionStep) call(ctx context.Context, r *receipt, input []byte, read func(in *instance, out []byte) error) (answered bool, err error) {
	return s.callWithin(ctx, s.o.timeout, r, input, read)
}

// callWithin is call within a time of its own.
func (s *functionStep) callWithin(ctx context.Context, timeout time.Duration, r *receipt, input []byte, read func(in *instance, out []byte) error) (answered bool, err error) {
	err = s.o.callWithin(ctx, max(0, timeout), r, func(in *instance) error {
		status, out, err := in.enterDocument(string(s.o.name), input)
		if err == nil && status != abi.StatusDone && !strings.HasPrefix(string(s.o.name), "anchor_") {
			err = faultf(abi.ReasonGuestError, "status %d without a message", status)
		}
		if answered = err == nil && len(out) > 0; answered {
			err = undecoded(read(in, out))
		}
		if late := in.late(); late != nil {
			return late
		}
		return err
	})
	return answered, err
}

// textOf copies an output that is text; what says which.
func (in *instance) textOf(out []byte, what string) (string, error) {
	if !utf8.Valid(out) {
		return "", faultf(abi.ReasonInvalidOutput, "%s is not valid UTF-8", what)
	}
	const small = 64 << 10 // as little as decoders do not ask for either
	if len(out) > small {
		if err := in.Take(int64(len(out))); err != nil {
			return "", err
		}
	}
	return string(out), nil
}

// setOpenSettings takes the settings as they are: a foreign module has no schema.
func (o *operation) setOpenSettings(opts StepOptions) error {
	if len(opts.Settings) == 0 {
		return nil
	}
	raw, err := json.Marshal(opts.Settings)
	if err != nil {
		return fmt.Errorf("settings: %w: %w", ErrConfig, err)
	}
	o.settings = raw
	return nil
}

// functionWrites are the changes that an output can be.
func functionWrites(input, output string) []abi.Change {
	switch {
	case output == OutputChanges:
		return abi.AllChanges
	case input == InputText:
		return []abi.Change{abi.ChangeText}
	}
	return []abi.Change{abi.ChangeItems}
}

// functionHint names the functions there are, or the one that was meant.
func (s *Spec) functionHint(function string) string {
	if near := abi.Nearest(function, s.Functions); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(s.Functions) == 0 {
		return "the module exports no function that can be called"
	}
	return "the module has " + strings.Join(s.Functions, ", ")
}
