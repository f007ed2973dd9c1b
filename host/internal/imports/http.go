package imports

import (
	"encoding/json"
	"errors"
	"net/url"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/egress"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/record"
)

// costHTTP is the fuel of a request, without its bytes.
const costHTTP = 100_000

// httpRequest sends a request for a guest and returns the block of the body, 0 if the body
// is empty. A request that is not permitted ends the call. If a server cannot be reached,
// the status is 0, the headers say why, and the guest's log gets a line. For a foreign module this ends the call,
// as in other Extism hosts.
func httpRequest(c *guest.Call, s []uint64) {
	in := c.Instance
	doc, ok := in.Extism.Kernel.Bytes(s[0])
	if !ok {
		panic(guest.Faultf(abi.ReasonTrap, "http_request: the request is not a block"))
	}
	body, _ := in.Extism.Kernel.Bytes(s[1])
	c.Spend(costHTTP + int64(len(doc)+len(body)))
	in.Extism.HTTP, in.Life.Outside = guest.Response{}, true
	answer, err := send(c, doc, body)
	noteSent(c, doc, body, answer, err)
	s[0] = 0
	if err != nil {
		in.WASI.Output.Line("warn", guesttext.Line(err.Error()))
		var failure *egress.Failure
		if errors.As(err, &failure) { // checkSent ends the call for any other
			in.Extism.HTTP.Headers = errorHeaders(failure)
		}
		return
	}
	in.Extism.HTTP = guest.Response{Status: answer.Status, Headers: answer.Headers}
	s[0] = putAnswer(c, answer.Body)
}

// send sends one request within the time of the call. It returns an error that the guest has
// to deal with, and ends the call for any other.
func send(c *guest.Call, doc, body []byte) (egress.Answer, error) {
	client := clientOf(c)
	ctx, cancel := c.Bounded()
	defer cancel()
	answer, err := client.Send(ctx, doc, body)
	if err != nil {
		checkSent(c, "http_request", "an HTTP answer of "+origin(doc), err)
	}
	return answer, err
}

// clientOf returns the client of the plugin of a call. The call ends if it has none.
func clientOf(c *guest.Call) *egress.Client {
	p := of(c)
	if p.Client == nil {
		panic(missing(c, "http", "grants.http"))
	}
	return p.Client
}

// checkSent ends the call for an error that the guest cannot deal with. function is what the
// guest called, and waiting is what it waited for.
func checkSent(c *guest.Call, function, waiting string, err error) {
	c.StopWaiting(waiting)
	var refusal *egress.Refusal
	var large *egress.TooLarge
	var failure *egress.Failure
	if errors.As(err, &failure) {
		warnUnanswered(c, failure)
	}
	switch {
	case errors.As(err, &refusal):
		panic(refused(refusal))
	case errors.As(err, &large):
		panic(&guest.Fault{Reason: abi.ReasonInputTooLarge, Err: err, Remedy: "raise limits.http_body"})
	case !errors.As(err, &failure):
		panic(guest.Faultf(abi.ReasonTrap, "%s: %w", function, err))
	case c.Instance.Env.Foreign:
		panic(&guest.Fault{Reason: abi.ReasonTrap, Err: err, Remedy: failure.Remedy()})
	}
}

// httpBatch sends the requests of a guest at the same time, and returns the block of the
// document with their answers. A request that has no answer does not end the call.
func httpBatch(c *guest.Call, s []uint64) {
	in := c.Instance
	doc, ok := in.Extism.Kernel.Bytes(s[0])
	if !ok {
		panic(guest.Faultf(abi.ReasonTrap, "%s: the requests are not a block", abi.ImportHTTPBatch))
	}
	client := clientOf(c)
	c.Spend(int64(len(doc)))
	requests, err := egress.DecodeBatch(doc, func(handle uint64) ([]byte, error) {
		body, ok := in.Extism.Kernel.Bytes(handle)
		if !ok {
			return nil, errors.New("the body is not a block")
		}
		return body, nil
	})
	if err != nil {
		panic(guest.Faultf(abi.ReasonTrap, "%s: %w", abi.ImportHTTPBatch, err))
	}
	for _, r := range requests {
		c.Spend(costHTTP + int64(len(r.Body)))
	}
	in.Life.Outside = true
	ctx, cancel := c.Bounded()
	defer cancel()
	outcomes, err := client.SendAll(ctx, requests)
	if err != nil {
		checkSent(c, abi.ImportHTTPBatch, "HTTP answers", err)
	}
	for i := range outcomes {
		note(c, &requests[i], outcomes[i].Answer, outcomes[i].Failure)
	}
	s[0] = putOutcomes(c, outcomes)
}

// response is one answer in the document that a guest gets.
type response struct {
	Status  int             `json:"status"`
	Headers json.RawMessage `json:"headers,omitempty"`
	Body    uint64          `json:"body,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// putOutcomes gives the outcomes of a batch to the guest, as the block of a document.
func putOutcomes(c *guest.Call, outcomes []egress.Outcome) uint64 {
	var d struct {
		Responses []response `json:"responses"`
	}
	d.Responses = make([]response, len(outcomes))
	for i, o := range outcomes {
		if o.Failure != nil {
			checkSent(c, abi.ImportHTTPBatch, "HTTP answers", o.Failure)
			c.Instance.WASI.Output.Line("warn", guesttext.Line(o.Failure.Error()))
			d.Responses[i].Error = o.Failure.Word()
			continue
		}
		d.Responses[i] = response{Status: o.Status, Headers: o.Headers, Body: putAnswer(c, o.Body)}
	}
	doc, err := json.Marshal(d)
	if err != nil {
		panic(guest.Faultf(abi.ReasonTrap, "%s: %w", abi.ImportHTTPBatch, err))
	}
	return putAnswer(c, doc)
}

// putAnswer copies what a server answered into a block, 0 if it is empty. The call ends if
// there is no room.
func putAnswer(c *guest.Call, b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	block := c.Put(b)
	if block == 0 {
		panic(guest.Faultf(abi.ReasonMemory, "no room for an HTTP response of %d bytes", len(b)))
	}
	return block
}

// origin is the server of a request, as errors name it: without path and query, which may hold
// secrets.
func origin(doc []byte) string {
	var d struct{ URL string }
	if json.Unmarshal(doc, &d) != nil {
		return "a server"
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		return "a server"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// refused is the fault of a request that is not permitted.
func refused(r *egress.Refusal) *guest.Fault {
	return &guest.Fault{Reason: abi.ReasonDenied, Err: r, Remedy: r.Remedy}
}

// noteSent notes a request of a call that is recorded. err is that of send.
func noteSent(c *guest.Call, doc, body []byte, answer egress.Answer, err error) {
	if !c.Record.Fits(len(doc) + len(body) + len(answer.Headers) + len(answer.Body)) {
		return
	}
	var r egress.Request
	var failure *egress.Failure
	if json.Unmarshal(doc, &r) != nil || err != nil && !errors.As(err, &failure) {
		return
	}
	r.Body = body
	note(c, &r, answer, failure)
}

// note notes a request with its answer, or with why there is none.
func note(c *guest.Call, r *egress.Request, answer egress.Answer, failure *egress.Failure) {
	if c.Record == nil {
		return
	}
	h := record.HTTP{Method: r.Method, URL: r.URL, Headers: r.Headers, Body: r.Body, Status: answer.Status, ResponseBody: answer.Body}
	if failure != nil {
		h.Failure = failure.Word()
	}
	c.Record.Sent(h, answer.Headers)
}
