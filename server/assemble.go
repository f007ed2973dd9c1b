package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/server/internal/degraded"
)

// assemble prepares the messages of an agent. The documents are those of "anchor-host assemble".
func (c *call) assemble() (any, error) {
	o, err := c.bodyOptions()
	if err != nil {
		return nil, err
	}
	ctx, used := ledger.Under(c.ctx)
	defer c.account(used)
	if o.From != message.FormAny || request.IsBody(ctx, c.body) {
		result, err := c.s.app.AssembleBody(ctx, c.body, o)
		if err != nil {
			return nil, err
		}
		name := "messages"
		if bytes.HasPrefix(bytes.TrimSpace(result.Body), []byte("{")) {
			name = "body"
		}
		return c.assembled(name, result.Body, result.Lost, result.Assembled)
	}
	return c.assembleMessages(ctx, &o)
}

// assembleMessages prepares a list of messages, with state and budget.
func (c *call) assembleMessages(ctx context.Context, o *anchor.BodyOptions) (_ any, err error) {
	input := &request.Messages{}
	if len(bytes.TrimSpace(c.body)) > 0 {
		if input, err = request.ReadMessages(ctx, "request", c.body, c.s.o.MaxValues); err != nil {
			return nil, err
		}
	} else if o.Run == "" {
		return nil, &Refusal{Status: http.StatusBadRequest, Reason: "no_body", Message: "the request has no messages", Remedy: "send them, or name a run"}
	}
	a := o.AssembleOptions
	a.State = input.State
	a.MaxTokens = cmp.Or(a.MaxTokens, input.Budget.MaxTokens)
	a.MaxMessages = cmp.Or(a.MaxMessages, input.Budget.MaxMessages)
	a.Phase = cmp.Or(a.Phase, input.Phase)
	result, err := c.s.app.Assemble(ctx, input.Messages, a)
	if err != nil {
		return nil, err
	}
	data, lost, err := anchor.WriteMessages(result.Messages, o.To, o.Lossy)
	if err != nil {
		return nil, err
	}
	return c.assembled("messages", data, lost, result)
}

// bodyOptions reads the parameters of the URL.
func (c *call) bodyOptions() (o anchor.BodyOptions, err error) {
	o.Run, o.User, o.Tenant = c.query.Get("run"), c.query.Get("user"), c.info.Principal.Tenant
	for _, f := range []struct {
		name string
		to   *message.Form
	}{{"from", &o.From}, {"to", &o.To}} {
		if *f.to = message.Form(c.query.Get(f.name)); c.query.Has(f.name) && !slices.Contains(message.Forms, *f.to) {
			return o, badParam(f.name, fmt.Sprintf("want one of %v, got %.100q", message.Forms, *f.to))
		}
	}
	if o.Lossy, err = c.flag("lossy"); err != nil {
		return o, err
	}
	if o.MaxTokens, err = c.number("max_tokens", 0, 1, 1<<31-1); err != nil {
		return o, err
	}
	if o.MaxMessages, err = c.number("max_messages", 0, 1, 1<<31-1); err != nil {
		return o, err
	}
	switch o.Phase = agent.Phase(c.query.Get("phase")); {
	case !c.query.Has("phase"), o.Phase == agent.PhaseLLM, o.Phase == agent.PhaseSynthesize:
		return o, nil
	}
	return o, badParam("phase", fmt.Sprintf("want llm or synthesize, got %.100q", o.Phase))
}

// assembled returns the document with the messages, whose bytes do not change.
func (c *call) assembled(name string, data []byte, lost []string, a *anchor.Assembled) (any, error) {
	if n := a.Diagnostics.After.Tokens; n != nil {
		c.usage.Tokens = *n
	}
	for i := range a.Diagnostics.Providers {
		c.usage.Fuel += uint64(max(0, a.Diagnostics.Providers[i].Fuel))
	}
	lacks := a.Diagnostics.Degraded()
	degraded.Name(c.w.Header(), lacks)
	c.warnDegraded(lacks, "")
	state, err := a.State.AppendJSON(nil)
	if err != nil {
		return nil, fmt.Errorf("write state: %w", err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "{%q:%s,\"state\":%s,\"diagnostics\":", name, bytes.TrimSpace(data), state)
	if err := encode(&b, a.Diagnostics); err != nil {
		return nil, err
	}
	if len(lost) > 0 {
		b.WriteString(`,"lost":`)
		if err := encode(&b, lost); err != nil {
			return nil, err
		}
	}
	if len(lacks) > 0 {
		b.WriteString(`,"degraded":`)
		if err := encode(&b, lacks); err != nil {
			return nil, err
		}
	}
	b.WriteString("}\n")
	return json.RawMessage(b.Bytes()), nil
}

// flag reads a parameter that is true or false.
func (c *call) flag(name string) (bool, error) {
	text := c.query.Get(name)
	if c.query.Has(name) && text != "true" && text != "false" {
		return false, badParam(name, fmt.Sprintf("want true or false, got %.100q", text))
	}
	return text == "true", nil
}

// number reads a parameter that is a whole number.
func (c *call) number(name string, fallback, least, most int) (int, error) {
	text := c.query.Get(name)
	if !c.query.Has(name) {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, badParam(name, fmt.Sprintf("want a whole number from %d to %d, got %.100q", least, most, text))
	}
	return n, nil
}
