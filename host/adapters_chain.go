package host

import (
	"context"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

// ContextProvider returns the operation provide as a pipeline.ContextProvider,
// with estimate_tokens if the plugin has it.
func (p *Plugin) ContextProvider(o StepOptions) (pipeline.ContextProvider, error) {
	op, err := p.operation(abi.OpProvide, o)
	if err != nil {
		return nil, err
	}
	c := &contextProvider{o: op, priority: pick(o.Priority, op.spec.Defaults.Priority)}
	if _, ok := p.spec.Operation(abi.OpEstimateTokens); ok {
		if c.estimate, err = p.operation(abi.OpEstimateTokens, StepOptions{Step: o.Step, Timeout: o.Timeout}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

type contextProvider struct {
	o, estimate *operation
	priority    int
}

func (c *contextProvider) Isolated() {}

// Name is the name of the step, or of the plugin.
func (c *contextProvider) Name() string {
	if c.o.step != "" {
		return c.o.step
	}
	return c.o.plugin.name
}

func (c *contextProvider) Priority() int { return c.priority }

// EstimateTokens is 0 for a plugin that does not estimate.
func (c *contextProvider) EstimateTokens(ctx context.Context, s *pipeline.AgentState) (int, error) {
	if c.estimate == nil {
		return 0, nil
	}
	var reply abi.EstimateReply
	request := provideRequest(s, s.Messages, pipeline.ProviderBudget{}, c.estimate.settings)
	if _, err := c.estimate.ask(ctx, request, &reply); err != nil {
		return 0, err
	}
	if reply.Tokens < 0 {
		return 0, c.estimate.invalid("tokens %d (want 0 or more)", reply.Tokens)
	}
	return reply.Tokens, nil
}

// Apply changes the messages, and the parts of the state the guest names.
func (c *contextProvider) Apply(ctx context.Context, s *pipeline.AgentState, msgs []pipeline.Message, b pipeline.ProviderBudget) ([]pipeline.Message, error) {
	var reply abi.ProvideReply
	changed, err := c.o.ask(ctx, provideRequest(s, msgs, b, c.o.settings), &reply)
	if err != nil || !changed {
		return nil, err
	}
	out, err := c.messages(reply.Messages)
	if err != nil {
		return nil, err
	}
	if st := reply.State; st != nil {
		if st.RunID != "" || st.Messages != nil {
			return nil, c.o.refuse(faultf(abi.ReasonDenied, "state: run_id and messages are not the guest's to change (it may name observations, reflection, data)"))
		}
		if st.Observations != nil {
			s.Observations = st.Observations
		}
		if st.Reflection != "" {
			s.Reflection = st.Reflection
		}
		if st.Data != nil {
			s.Data = st.Data
		}
	}
	return out, nil
}

// messages checks the messages of a guest; nil is no change.
func (c *contextProvider) messages(in []abi.Message) ([]pipeline.Message, error) {
	if in == nil {
		return nil, nil
	}
	out := make([]pipeline.Message, len(in))
	for i, m := range in {
		role := pipeline.Role(m.Role)
		if !role.Valid() {
			return nil, c.o.invalid("messages[%d]: role %q (want user, assistant, system or tool)", i, m.Role)
		}
		out[i] = pipeline.Message{Role: role, Content: m.Content, Name: m.Name, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}
	}
	return out, nil
}

func provideRequest(s *pipeline.AgentState, msgs []pipeline.Message, b pipeline.ProviderBudget, settings json.RawMessage) abi.ProvideRequest {
	return abi.ProvideRequest{
		State: abi.AgentState{RunID: s.RunID, Messages: abiMessages(s.Messages), Observations: s.Observations,
			Reflection: s.Reflection, Data: s.Data},
		Messages: abiMessages(msgs),
		Budget:   abi.ProviderBudget{MaxTokens: b.MaxTokens, MaxMessages: b.MaxMessages, Phase: string(b.Phase)},
		Settings: settings,
	}
}

func abiMessages(msgs []pipeline.Message) []abi.Message {
	out := make([]abi.Message, len(msgs))
	for i, m := range msgs {
		out[i] = abi.Message{Role: string(m.Role), Content: m.Content, Name: m.Name, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}
	}
	return out
}

// Formatter returns the operation format as a pipeline.Formatter. Its type is
// what the plugin says of each output, and the name of the plugin where it says
// nothing.
func (p *Plugin) Formatter(o StepOptions) (pipeline.Formatter, error) {
	op, err := p.operation(abi.OpFormat, o)
	if err != nil {
		return nil, err
	}
	return formatter{op}, nil
}

type formatter struct{ o *operation }

func (f formatter) Isolated() {}

func (f formatter) FormatType() string { return f.o.plugin.name }

// maxFormatType bounds the name that a guest gives its format, in bytes.
const maxFormatType = 64

// Format returns a string, or any other JSON document as json.RawMessage, in a
// pipeline.Formatted.
func (f formatter) Format(ctx context.Context, w *pipeline.Window) (any, error) {
	var reply abi.FormatReply
	changed, err := f.o.ask(ctx, abi.FormatRequest{
		Items: abiItems(w.Items, f.o.reads), MaxTokens: w.MaxTokens, UsedTokens: w.UsedTokens, Settings: f.o.settings,
	}, &reply)
	switch {
	case err != nil:
		return nil, err
	case !changed || len(reply.Output) == 0:
		return nil, f.o.invalid("no output (a formatter has no default to leave things at)")
	}
	if t := reply.FormatType; !validFormatType(t) {
		return nil, f.o.invalid("format_type %q (want at most %d bytes without control characters)", oneLine(clip(t, maxFormatType)), maxFormatType)
	}
	var text string
	if json.Unmarshal(reply.Output, &text) == nil && reply.Output[0] == '"' {
		return pipeline.Formatted{Type: reply.FormatType, Output: text}, nil
	}
	return pipeline.Formatted{Type: reply.FormatType, Output: reply.Output}, nil
}

func validFormatType(t string) bool { return len(t) <= maxFormatType && oneLine(t) == t }

// Tokenizer returns the operation count_tokens as a pipeline.Tokenizer. Its name
// is that of the plugin.
func (p *Plugin) Tokenizer(o StepOptions) (pipeline.Tokenizer, error) {
	op, err := p.operation(abi.OpCountTokens, o)
	if err != nil {
		return nil, err
	}
	return guestTokenizer{op}, nil
}

type guestTokenizer struct{ o *operation }

func (t guestTokenizer) Name() string { return t.o.plugin.name }

func (t guestTokenizer) Count(ctx context.Context, texts ...string) ([]int, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	var reply abi.CountReply
	changed, err := t.o.ask(ctx, abi.CountRequest{Texts: texts, Settings: t.o.settings}, &reply)
	switch {
	case err != nil:
		return nil, err
	case !changed || len(reply.Counts) != len(texts):
		return nil, t.o.invalid("%d counts for %d texts", len(reply.Counts), len(texts))
	}
	for i, n := range reply.Counts {
		if n < 0 {
			return nil, t.o.invalid("counts[%d]: %d (want 0 or more)", i, n)
		}
	}
	return reply.Counts, nil
}

// prefixes is how many prefixes one call of Truncate tries.
const prefixes = 16

// Truncate narrows the length down, several prefixes per call. It takes counts
// to grow with the text.
func (t guestTokenizer) Truncate(ctx context.Context, text string, limit int) (string, error) {
	if limit <= 0 {
		return "", nil
	}
	fits, beyond := 0, len(text)+1 // text[:fits] has at most limit tokens
	for beyond-fits > 1 {
		var ends []int
		var texts []string
		for i := 1; i <= prefixes; i++ {
			end := fits + (beyond-fits)*i/(prefixes+1)
			if i == prefixes && beyond == len(text)+1 {
				end = len(text)
			}
			for end > fits && end < len(text) && !utf8.RuneStart(text[end]) {
				end--
			}
			if end > fits && (len(ends) == 0 || end > ends[len(ends)-1]) {
				ends, texts = append(ends, end), append(texts, text[:end])
			}
		}
		if len(ends) == 0 {
			break
		}
		counts, err := t.Count(ctx, texts...)
		if err != nil {
			return "", err
		}
		for i, n := range counts {
			if n > limit {
				beyond = ends[i]
				break
			}
			fits = ends[i]
		}
		if fits == len(text) {
			break
		}
	}
	return text[:fits], nil
}

// Callback returns the operation observe as a pipeline.Callback. Failures are
// the pipeline's to log.
func (p *Plugin) Callback(o StepOptions) (pipeline.Callback, error) {
	op, err := p.operation(abi.OpObserve, o)
	if err != nil {
		return pipeline.Callback{}, err
	}
	tell := func(ctx context.Context, e abi.Event) error {
		e.Settings = op.settings
		_, err := op.ask(ctx, e, nil)
		return err
	}
	return pipeline.Callback{
		OnPipelineStart: func(ctx context.Context, q *pipeline.Query) error {
			return tell(ctx, abi.Event{Type: "pipeline_start", Query: q.Text})
		},
		OnStepStart: func(ctx context.Context, step string, items []pipeline.Item) error {
			return tell(ctx, abi.Event{Type: "step_start", Step: step, Items: len(items)})
		},
		OnStepEnd: func(ctx context.Context, step string, items []pipeline.Item, took time.Duration) error {
			return tell(ctx, abi.Event{Type: "step_end", Step: step, Items: len(items), TimeMS: milliseconds(took)})
		},
		OnStepError: func(ctx context.Context, step string, err error) error {
			return tell(ctx, abi.Event{Type: "step_error", Step: step, Error: err.Error()})
		},
		OnPipelineEnd: func(ctx context.Context, r *pipeline.Result) error {
			return tell(ctx, abi.Event{Type: "pipeline_end", Items: len(r.Window.Items), TimeMS: r.BuildTimeMS})
		},
	}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
