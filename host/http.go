package host

import (
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/egress"
	"github.com/anchor-host/anchor-host/host/internal/guest"
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
		in.WASI.Output.Line("warn", oneLine(err.Error()))
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
	p := pluginOf(c.Instance)
	if p.client == nil {
		panic(denied("http", asked("grants.http", p.spec.Foreign)))
	}
	ctx, cancel := c.Bounded()
	defer cancel()
	answer, err := p.client.Send(ctx, doc, body)
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
	case p.spec.Foreign:
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

// openClient makes the client of a plugin that may send requests.
func (p *Plugin) openClient() {
	if p.granted.http == nil {
		return
	}
	p.client = egress.NewClient(egress.Options{
		Rule: p.granted.http, MaxBody: p.limits.HTTPBody, Take: p.files.Take, Give: p.files.Give,
		Transport: p.host.cfg.HTTPTransport, Guard: p.guard,
	})
}

// newHTTPServers parses the host patterns of a grant or of a manifest's request. Errors
// wrap ErrConfig.
func newHTTPServers(hosts, methods []string) (egress.Servers, error) {
	patterns := make([]abi.HostPattern, len(hosts))
	for i, h := range hosts {
		p, err := abi.ParseHostPattern(h)
		if err != nil {
			return egress.Servers{}, fmt.Errorf("host %q: %w (%w)", h, ErrConfig, err)
		}
		patterns[i] = p
	}
	return egress.NewServers(patterns, methods), nil
}

// newHTTPRule makes the rule of a grant, which was checked before.
func newHTTPRule(g *HTTPGrant, foreign bool) *egress.Rule {
	servers, _ := newHTTPServers(g.Hosts, g.Methods) // an unreadable one grants nothing
	return &egress.Rule{Grant: servers, Foreign: foreign, Private: g.Private}
}
