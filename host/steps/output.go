package steps

import (
	"context"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Formatter returns the operation format as a pipeline.Formatter. Its type is the type that
// the plugin states for each output, or else the name of the plugin.
func Formatter(p *host.Plugin, o Options) (pipeline.Formatter, error) {
	op, err := prepare(p, abi.OpFormat, o)
	if err != nil {
		return nil, err
	}
	return formatter{op}, nil
}

type formatter struct{ o *operation }

func (f formatter) Isolated() {}

func (f formatter) FormatType() string { return f.o.module.Plugin }

// Format returns a string, or any other JSON document as json.RawMessage, in a
// pipeline.Formatted.
func (f formatter) Format(ctx context.Context, w *pipeline.Window) (any, error) {
	items, err := abiItems(ctx, w.Items, f.o.Reads())
	if err != nil {
		return nil, err
	}
	var reply abi.FormatReply
	_, err = f.o.Ask(ctx, abi.FormatRequest{
		Items: items, MaxTokens: w.MaxTokens, UsedTokens: w.UsedTokens, Query: w.Query, Settings: f.o.Settings(),
	}, &reply)
	if err != nil {
		return nil, err
	}
	var text string
	if json.Unmarshal(reply.Output, &text) == nil && reply.Output[0] == '"' {
		return pipeline.Formatted{Type: reply.FormatType, Output: text}, nil
	}
	return pipeline.Formatted{Type: reply.FormatType, Output: reply.Output}, nil
}

// Tokenizer returns the operation count_tokens as a pipeline.Tokenizer. Its name is the
// name of the plugin.
func Tokenizer(p *host.Plugin, o Options) (pipeline.Tokenizer, error) {
	op, err := prepare(p, abi.OpCountTokens, o)
	if err != nil {
		return nil, err
	}
	return guestTokenizer{op}, nil
}

type guestTokenizer struct{ o *operation }

func (t guestTokenizer) Name() string { return t.o.module.Plugin }

func (t guestTokenizer) Count(ctx context.Context, texts ...string) ([]int, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	var reply abi.CountReply
	if _, err := t.o.Ask(ctx, abi.CountRequest{Texts: texts, Settings: t.o.Settings()}, &reply); err != nil {
		return nil, err
	}
	return reply.Counts, nil
}

// prefixes is how many prefixes one call of the guest counts.
const prefixes = 16

// Truncate searches for the length with several prefixes per call. It assumes that longer
// texts have higher counts.
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

// Callback returns the operation observe as a pipeline.Callback. The pipeline logs its
// failures.
func Callback(p *host.Plugin, o Options) (pipeline.Callback, error) {
	op, err := prepare(p, abi.OpObserve, o)
	if err != nil {
		return pipeline.Callback{}, err
	}
	observe := func(ctx context.Context, e abi.Event) error {
		e.Settings = op.Settings()
		_, err := op.Ask(ctx, e, nil)
		return err
	}
	return pipeline.Callback{
		OnPipelineStart: func(ctx context.Context, q *pipeline.Query) error {
			return observe(ctx, abi.Event{Type: "pipeline_start", Query: q.Text})
		},
		OnStepStart: func(ctx context.Context, step string, items pipeline.ItemsView) error {
			return observe(ctx, abi.Event{Type: "step_start", Step: step, Items: items.Len()})
		},
		OnStepEnd: func(ctx context.Context, step string, items pipeline.ItemsView, took time.Duration) error {
			return observe(ctx, abi.Event{Type: "step_end", Step: step, Items: items.Len(), TimeMS: milliseconds(took)})
		},
		OnStepError: func(ctx context.Context, step string, err error) error {
			return observe(ctx, abi.Event{Type: "step_error", Step: step, Error: err.Error()})
		},
		OnPipelineEnd: func(ctx context.Context, r pipeline.ResultView) error {
			return observe(ctx, abi.Event{Type: "pipeline_end", Items: r.Items().Len(), TimeMS: r.BuildTimeMS()})
		},
	}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
