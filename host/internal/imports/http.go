package imports

import (
	"errors"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/egress"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
)

// costHTTP is the fuel of a request, without its bytes.
const costHTTP = 100_000

// httpRequest sends a request for a guest and returns the block of the body, 0 if the body
// is empty. A request that is not permitted ends the call. If a server cannot be reached,
// the status is 0 and the guest's log gets a line. For a foreign module this ends the call,
// as in other Extism hosts.
func httpRequest(c *guest.Call, s []uint64) {
	in := c.Instance
	doc, ok := in.Kernel.Bytes(s[0])
	if !ok {
		panic(guest.Faultf(abi.ReasonTrap, "http_request: the request is not a block"))
	}
	body, _ := in.Kernel.Bytes(s[1])
	c.Spend(costHTTP + int64(len(doc)+len(body)))
	in.HTTP, in.Outside = guest.Response{}, true
	answer, err := send(c, doc, body)
	s[0] = 0
	if err != nil {
		in.WASI.Output.Line("warn", guesttext.Line(err.Error()))
		return
	}
	in.HTTP = guest.Response{Status: answer.Status, Headers: answer.Headers}
	if len(answer.Body) == 0 {
		return
	}
	if s[0] = c.Put(answer.Body); s[0] == 0 {
		panic(guest.Faultf(abi.ReasonMemory, "http_request: no room for a response of %d bytes", len(answer.Body)))
	}
}

// send sends one request within the time of the call. It returns an error that the guest has
// to deal with, and ends the call for any other.
func send(c *guest.Call, doc, body []byte) (egress.Answer, error) {
	p, foreign := of(c), c.Instance.Env.Foreign
	if p.Client == nil {
		panic(denied("http", asked("grants.http", foreign)))
	}
	ctx, cancel := c.Bounded()
	defer cancel()
	answer, err := p.Client.Send(ctx, doc, body)
	if err == nil {
		return answer, nil
	}
	c.Stop()
	var refusal *egress.Refusal
	var large *egress.TooLarge
	var failure *egress.Failure
	switch {
	case errors.As(err, &refusal):
		panic(refused(refusal))
	case errors.As(err, &large):
		panic(&guest.Fault{Reason: abi.ReasonInputTooLarge, Err: err, Remedy: "raise limits.http_body"})
	case !errors.As(err, &failure):
		panic(guest.Faultf(abi.ReasonTrap, "http_request: %w", err))
	case foreign:
		panic(&guest.Fault{Reason: abi.ReasonTrap, Err: err, Remedy: failure.Remedy()})
	}
	return answer, err
}

// refused is the fault of a request that is not permitted.
func refused(r *egress.Refusal) *guest.Fault {
	f := denied(r.What, asked(r.Grant, !r.Wish))
	if r.Grant == "" {
		f.Remedy = r.Remedy
	}
	return f
}
