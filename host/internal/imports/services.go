package imports

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/ledger"
)

const (
	// costService is the fuel of a request to a service, without its bytes.
	costService = 100_000
	// maxAnswer bounds the texts of an answer that a guest gets, in bytes.
	maxAnswer = 4 << 20
	// maxMessage bounds the message of a failure, in bytes.
	maxMessage = 1000
)

// requestOf returns the request document of a service. It is memory of the guest.
func requestOf(c *guest.Call, handle uint64, function string) []byte {
	doc, ok := c.Instance.Extism.Kernel.Bytes(handle)
	switch {
	case !ok:
		panic(malformed(function, errors.New("the request is not a block")))
	case len(doc) > services.MaxDocument:
		panic(&guest.Fault{Reason: abi.ReasonInputTooLarge, Remedy: "ask in parts",
			Err: fmt.Errorf("%s: a request of %d bytes, allowed %d", function, len(doc), services.MaxDocument)})
	}
	c.Spend(costService + int64(len(doc)))
	c.Instance.Life.Outside = true
	return doc
}

// malformed is the fault of a request that breaks the contract.
func malformed(function string, err error) *guest.Fault {
	return guest.Faultf(abi.ReasonTrap, "%s: %w", function, errors.New(guesttext.Line(err.Error())))
}

// list reads a list and counts its values before it makes room for them. An absent list is empty.
func list[T any](raw json.RawMessage, most int) ([]T, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	if open, err := in.Token(); err != nil || open != json.Delim('[') {
		return nil, errors.New("is not a list")
	}
	var out []T
	for in.More() {
		if len(out) == most {
			return nil, fmt.Errorf("has more than %d values", most)
		}
		var v T
		if err := in.Decode(&v); err != nil {
			return nil, fmt.Errorf("[%d]: %w", len(out), err)
		}
		out = append(out, v)
	}
	return out, nil
}

// granted returns the name that a guest asks for, the first of the grant if it is empty. The call
// ends for a name that is not granted.
func granted(what, key, name string, names []string) string {
	if name == "" {
		return names[0]
	}
	for _, n := range names {
		if n == name {
			return name
		}
	}
	panic(denied(fmt.Sprintf("%s %q", what, guesttext.Clip(name, maxMessage)), key))
}

// asked runs a service of the embedder within the time of the call. waiting says what for.
func asked[T any](c *guest.Call, waiting string, f func(context.Context) (T, error)) (T, error) {
	v, err := guest.Beside(c, waiting, f, nil)
	c.StopWaiting("an answer of the " + waiting)
	return v, err
}

// take takes a request, with n of what else the limit bounds, from a budget of the plugin in its build.
func take(c *guest.Call, account string, limit ledger.Limit, n int64) error {
	_, l := ledger.Under(c.Context)
	_, err := l.Take(account, limit, n)
	return err
}

// noteUse notes what the plugin used in the ledger of its build.
func noteUse(c *guest.Call, name, used string, a ledger.Amount) {
	_, l := ledger.Under(c.Context)
	l.Note(ledger.Use{Service: name, Name: used, Plugin: of(c).Name}, a)
}

// recordedVectors is an [services.EmbedAnswer] in a record, with the numbers in the place of the block.
type recordedVectors struct {
	services.EmbedAnswer
	Vectors []float32 `json:"vectors,omitempty"`
}

// recordedSearch is an [services.SearchRequest] in a record, with the numbers in the place of the
// block.
type recordedSearch struct {
	services.SearchRequest
	Vector []float32 `json:"vector,omitempty"`
}

// hitSize is about what a hit takes beside its text, in bytes.
const hitSize = 256

// textsOf is about the size of hits.
func textsOf(hits []services.SearchHit) (n int) {
	for i := range hits {
		n += len(hits[i].Text) + hitSize
	}
	return n
}

// wordTexts are the messages of failures that have none.
var wordTexts = map[services.Word]string{
	services.Timeout:     "there was no answer in time",
	services.Unavailable: "the service cannot be reached, or refuses for now",
	services.Refused:     "the service refuses this request",
	services.Invalid:     "the answer is not what was asked for",
	services.Budget:      "the calls or tokens of the build are spent",
	services.NotFound:    "there is no such collection",
}

// failureOf is what a guest is told of an error.
func failureOf(err error) services.Failure {
	f := services.Failure{Error: services.Unavailable}
	var known *service.Error
	switch {
	case errors.As(err, &known) && wordTexts[known.Word] != "":
		f.Error, f.Message = known.Word, guesttext.Clip(guesttext.Line(known.Message), maxMessage)
	case errors.Is(err, ledger.ErrSpent):
		f.Error = services.Budget
	case errors.Is(err, context.DeadlineExceeded):
		f.Error = services.Timeout
	}
	if f.Message == "" {
		f.Message = wordTexts[f.Error]
	}
	return f
}

// failed tells the log why a service has no answer, and returns what the guest is
// told.
func failed(c *guest.Call, function string, err error) services.Failure {
	text := guesttext.Line(function + ": " + err.Error())
	if c.Instance.WASI.Output.Line("warn", text) { // which bounds what a call may log
		c.Instance.Env.Log.Warn(text)
	}
	return failureOf(err)
}

// putDocument gives a document to the guest.
func putDocument(c *guest.Call, function string, d any) uint64 {
	doc, err := json.Marshal(d)
	if err != nil {
		panic(guest.Faultf(abi.ReasonTrap, "%s: %w", function, err))
	}
	c.Spend(int64(len(doc)))
	return putAnswer(c, doc)
}

// finite reports whether all numbers are.
func finite(values []float32) bool {
	for _, v := range values {
		if v64 := float64(v); math.IsNaN(v64) || math.IsInf(v64, 0) {
			return false
		}
	}
	return true
}
