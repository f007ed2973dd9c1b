package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// ofAsker returns a model that asks no server.
func ofAsker(o Options) *Model {
	m := &Model{o: o, api: chat{}, address: "asker:" + o.Name}
	m.complete()
	m.turns = make(chan struct{}, m.o.Concurrency)
	return m
}

// askOwn asks the model of the program, in its turn and its time.
func (m *Model) askOwn(ctx context.Context, r Request, check func(json.RawMessage) error) (Answer, error) {
	select {
	case m.turns <- struct{}{}:
		defer func() { <-m.turns }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	if r.Temperature == nil {
		r.Temperature = m.o.Temperature
	}
	r.Check = nil
	within, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	a, err := m.o.Asker.Ask(within, r)
	a.InputTokens, a.OutputTokens = counted(a.InputTokens), counted(a.OutputTokens)
	a.CachedTokens, a.Cached = min(counted(a.CachedTokens), a.InputTokens), false
	known, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
	case ok:
		err = m.failedOwn(known)
	case ctx.Err() != nil:
		return Answer{}, context.Cause(ctx)
	case within.Err() != nil:
		err = m.failed(Timeout, fmt.Errorf("no answer within %v (raise its timeout): %w", m.o.Timeout, err))
	default:
		err = m.failed(Unavailable, err)
	}
	return m.checked(a, err, check)
}

// failedOwn returns the error of the program's model as that of this one. The program may keep its own.
func (m *Model) failedOwn(known *Error) error {
	kind, err := Unavailable, errors.New("it gives no reason")
	if known != nil {
		err = cmp.Or(known.Err, err)
		if slices.Contains([]Kind{Timeout, Refused, Invalid, Budget}, known.Kind) {
			kind = known.Kind
		}
	}
	return m.failed(kind, err)
}

// safe returns a text without the secrets of the server.
func (m *Model) safe(text string) string {
	if m.client == nil {
		return text
	}
	return m.client.Safe(text)
}
