package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// FunctionOptions configure calls of a function of a foreign module as an operation.
// Settings are sent with InputRequest only, and are not checked. Reads are the columns of
// the items and the parts of the query in InputRequest; nil means text and the whole query.
// Other inputs refuse Reads. TopK is the largest number of items that the function adds;
// the host drops further ones. 0 means DefaultTopK.
type FunctionOptions struct {
	OperationOptions
	// Input is the form of the function's input.
	Input FunctionInput
	// Output is the form of the function's output. InputText allows only OutputText.
	Output FunctionOutput
}

// Function prepares a function of a foreign module for calls by [Operation.Changes]. There
// is no manifest, so the options decide what its answer may do. Apart from that, it may do
// the same as the operation process. A status other than 0, or a message, is an error of
// the call. Errors wrap ErrNoOperation, ErrNoExport or ErrConfig.
func (p *Plugin) Function(function string, o FunctionOptions) (*Operation, error) {
	out, err := p.prepareFunction(function, o)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: function %q: %w", p.setup.name, function, err)
	}
	return out, nil
}

func (p *Plugin) prepareFunction(function string, o FunctionOptions) (*Operation, error) {
	how := &foreignCall{input: cmp.Or(o.Input, InputQuery), output: cmp.Or(o.Output, OutputText)}
	if err := CheckFunction(p.setup.spec, function, o.Input, o.Output); err != nil {
		return nil, err
	}
	if len(o.Settings) > 0 && how.input != InputRequest {
		return nil, fmt.Errorf("settings: %w (they are sent with input: %s only)", ErrConfig, InputRequest)
	}
	if o.Reads != nil && how.input != InputRequest {
		return nil, fmt.Errorf("reads: %w (they choose what is sent with input: %s, and have no meaning with input: %s)", ErrConfig, InputRequest, how.input)
	}
	reads := abi.ColumnSet(0).With(abi.ColumnText)
	if o.Reads != nil {
		reads = abi.AllColumns // setReads narrows them
	}
	writes, err := abi.ChangesOf(functionWrites(how.input, how.output))
	if err != nil {
		return nil, err
	}
	out := &Operation{plugin: p, op: abi.OpProcess, name: abi.Operation(function), export: function, step: o.Step, reads: reads, changes: true, foreign: how,
		spec: spec.Operation{Operation: abi.OpProcess, Lanes: []Lane{LaneJSON}, Reads: reads, Writes: writes}}
	for _, f := range []func(OperationOptions) error{out.setReads, out.setOpenSettings, out.setTimeout, out.setGrant} {
		if err := f(o.OperationOptions); err != nil {
			return nil, err
		}
	}
	out.topK = cmp.Or(max(0, o.TopK), DefaultTopK)
	return out, nil
}

// CheckFunction checks that a module can be called as [Plugin.Function] says, before it is
// loaded. Empty input and output are the defaults. Errors wrap ErrNoOperation, ErrNoExport
// or ErrConfig.
func CheckFunction(spec *spec.Spec, function string, input FunctionInput, output FunctionOutput) error {
	switch {
	case !spec.Foreign:
		return fmt.Errorf("%w: the plugin has operations, which a step names (function is for modules that do not speak the contract)", ErrNoOperation)
	case !slices.Contains(spec.Functions, function):
		return fmt.Errorf("%w (%s)", ErrNoExport, functionHint(spec, function))
	case function == "_start" || function == "_initialize":
		return fmt.Errorf("%w (it starts a program, which a step cannot)", ErrConfig)
	case input == InputText && output != "" && output != OutputText:
		return fmt.Errorf("input %s has output %s: %w (it has one text per item; for more use input: %s)", input, output, ErrConfig, InputRequest)
	}
	return cmp.Or(checkChoice("input", input, inputs), checkChoice("output", output, outputs))
}

// texts calls the function once for each item. The limits of output and of time apply to
// all of these calls together.
func (o *Operation) texts(ctx context.Context, rows abi.Rows, a *Answer) error {
	c := &abi.Changes{}
	left := o.plugin.setup.limits.Output
	began := guest.Clock()
	within, cancel := context.WithTimeout(ctx, o.timeout) // also bounds the waits between calls
	defer cancel()
	for row := range count(rows) {
		text := rows.Text(row)
		changed := text
		one := o.call()
		one.timeout = max(0, o.timeout-(guest.Clock()-began))
		err := o.plugin.do(within, one, &a.receipt, func(in *guest.Instance) error {
			return in.Document(o.export, []byte(text), false, func(s abi.Status, out []byte) (err error) {
				if err = checkStatus(o.export, s); err != nil {
					return err
				}
				if left -= int64(len(out)); left < 0 {
					return guest.Faultf(abi.ReasonOutputTooLarge, "output for the rows up to %d together of more than %d bytes, allowed %[2]d", row, o.plugin.setup.limits.Output)
				}
				if len(out) > 0 && string(out) != text {
					changed, err = textOf(in, out, fmt.Sprintf("the output for row %d", row))
				}
				return err
			})
		})
		switch {
		case err != nil && ctx.Err() == nil && guest.Clock()-began >= o.timeout:
			return o.refuse(&guest.Fault{Reason: abi.ReasonTimeout, Remedy: "raise the timeout of the step and limits.timeout, or show the function fewer items",
				Err: errkind.As(context.DeadlineExceeded, fmt.Errorf("done with %d of %d items within %v, the time for all of them", row, rows.Len(), o.timeout))})
		case err != nil:
			return err
		}
		if changed != text {
			c.Edits = append(c.Edits, abi.Edit{Row: uint32(row), Content: &changed})
		}
	}
	if len(c.Edits) == 0 {
		return nil
	}
	if err := o.check(c, rows, 0); err != nil {
		return o.refuse(err)
	}
	a.Changes = c
	return nil
}

// decoded are the changes in the output of a guest that was asked by a document, nil for none.
func (o *Operation) decoded(in *guest.Instance, s abi.Status, out []byte, within abi.Bounds) (*abi.Changes, error) {
	if err := checkStatus(o.export, s); err != nil {
		return nil, err
	}
	switch {
	case s == abi.StatusNoChange, o.foreign != nil && len(out) == 0:
		return nil, nil
	case len(out) == 0:
		return nil, guest.NoOutput()
	case o.foreign != nil && o.foreign.output == OutputText:
		text, err := textOf(in, out, "the output")
		return &abi.Changes{Items: []abi.NewItem{{Content: text}}}, err
	case o.op == abi.OpMemory:
		var reply abi.MemoryReply
		err := abi.DecodeReplyWithin(out, &reply, within)
		return &abi.Changes{Items: reply.Items}, err
	}
	c := new(abi.Changes)
	if o.foreign != nil && o.foreign.output == OutputItems {
		return c, c.DecodeItemsWithin(out, within)
	}
	return c, c.DecodeJSONWithin(out, within)
}

// textOf copies an output that must be text. what names it in the error.
func textOf(in *guest.Instance, out []byte, what string) (string, error) {
	if !utf8.Valid(out) {
		return "", guest.Faultf(abi.ReasonInvalidOutput, "%s is not valid UTF-8", what)
	}
	const small = 64 << 10 // a smaller buffer is not worth a charge, as in decoders
	if len(out) > small {
		if err := in.Take(int64(len(out))); err != nil {
			return "", err
		}
	}
	return string(out), nil
}

// setOpenSettings sets the settings without a check, because a foreign module has no
// schema.
func (o *Operation) setOpenSettings(opts OperationOptions) error {
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

// functionWrites are the changes that an output can make.
func functionWrites(input FunctionInput, output FunctionOutput) []abi.Change {
	switch {
	case output == OutputChanges:
		return abi.AllChanges
	case input == InputText:
		return []abi.Change{abi.ChangeText}
	}
	return []abi.Change{abi.ChangeItems}
}
