package record

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
)

// Plugin collects the calls of one plugin. Begin and Init are safe for concurrent use.
type Plugin struct {
	// Name, Module and Config are those of each call, Init is the document that init receives.
	Name   string
	Module string
	Init   []byte
	Config map[string]string
	// Secrets are texts to hide. Settings returns those among the settings of an operation.
	Secrets  []string
	Settings func(op abi.Operation, settings []byte) []string
	// To receives each call, nil for none.
	To func(Call)
	// Failed receives each call that failed, nil for none. Module, Digest, Fuel and Memory of a
	// [Failure] are those of Plugin.
	Failed       func(Failure)
	Digest       string
	Fuel, Memory int64

	mu sync.Mutex
	// init is what the last init asked the host for.
	init *Call
}

// Begin begins to collect a call. Without a plugin it returns nil, which collects nothing. last is
// what collected the call before, whose memory is used again where that is possible; it may be nil.
func (p *Plugin) Begin(last *Call) *Call {
	switch {
	case p == nil:
		return nil
	case last != nil && last.ended:
		last.ended = false
		return last
	}
	return &Call{brief: p.To == nil}
}

// EndInit keeps what an init asked the host for. Every call that follows has it.
func (p *Plugin) EndInit(c *Call) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.init = c
}

// End hands over a call that has ended. failed is why it failed, nil if it did not.
func (p *Plugin) End(c *Call, op abi.Operation, step string, failed *Failure) {
	if failed == nil && c.brief {
		*c = Call{brief: true, ended: true}
		return
	}
	op = abi.Operation(strings.TrimPrefix(string(op), "anchor_")) // of an export that was called by its name
	out := *c
	p.mu.Lock()
	if i := p.init; i != nil {
		out.HTTP = append(i.HTTP[:len(i.HTTP):len(i.HTTP)], c.HTTP...)
		out.KV = append(i.KV[:len(i.KV):len(i.KV)], c.KV...)
		out.Services = append(i.Services[:len(i.Services):len(i.Services)], c.Services...)
		out.Counts = append(i.Counts[:len(i.Counts):len(i.Counts)], c.Counts...)
		out.LeftOut += i.LeftOut
	}
	p.mu.Unlock()
	out.Plugin, out.Module, out.Operation, out.Step = p.Name, p.Module, op, step
	if failed != nil {
		out.Err = failed.Err
	}
	out.encode()
	out.Init, out.Config = member(p.Init, "settings"), p.Config
	secrets := append(p.Secrets[:len(p.Secrets):len(p.Secrets)], out.shown()...)
	secrets = append(secrets, p.Settings(op, member(out.Request, "settings"))...)
	secrets = append(secrets, p.Settings(abi.OpInit, out.Init)...)
	h := newHider(secrets)
	h.call(&out)
	out.Hide = h.text
	if p.To != nil {
		p.To(out)
	}
	if p.Failed != nil && failed != nil {
		f := *failed
		f.Call, f.Digest, f.Fuel, f.Memory = out, p.Digest, p.Fuel, p.Memory
		f.Public, f.Remedy, f.Output = h.text(f.Public), h.text(f.Remedy), h.text(f.Output)
		p.Failed(f)
	}
}

// member is a member of a JSON object, nil where there is none.
func member(doc []byte, name string) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(doc, &members) != nil {
		return nil
	}
	return members[name]
}

// Ask notes the request of a call. c may be nil, as in all other methods. If only failures are
// collected, the request must not be changed before End.
func (c *Call) Ask(request []byte) {
	if c == nil || !c.room(len(request)) {
		return
	}
	if c.Request = request; !c.brief {
		c.Request = bytes.Clone(request)
	}
}

// Wants reports whether a request of n bytes, which the plugin received in another form, is to be
// noted by Ask once the call has failed. n is 0 if the plugin did not receive it.
func (c *Call) Wants(n int64) bool {
	return c != nil && c.brief && n > 0 && n <= MaxFailureBytes
}

// Fits reports whether n bytes more can be noted, and counts them as left out if not.
func (c *Call) Fits(n int) bool {
	switch {
	case c == nil:
		return false
	case c.used+int64(n)+overhead > c.most():
		c.LeftOut += int64(n)
		return false
	}
	return true
}

// Reply notes the answer of a call.
func (c *Call) Reply(noChange bool, answer []byte) {
	if c == nil || c.brief {
		return
	}
	c.NoChange = noChange
	if !noChange && c.room(len(answer)) {
		c.Answer = bytes.Clone(answer)
	}
}

// Sent notes an HTTP request with its response. headers is a JSON object. What is passed may be
// used again afterwards.
func (c *Call) Sent(h HTTP, headers []byte) {
	if c == nil || !c.room(len(h.URL)+len(h.Body)+len(headers)+len(h.ResponseBody)+size(h.Headers)) {
		return
	}
	h.Method, h.URL, h.Headers = strings.Clone(h.Method), strings.Clone(h.URL), maps.Clone(h.Headers)
	h.Body, h.ResponseBody = bytes.Clone(h.Body), bytes.Clone(h.ResponseBody)
	if len(headers) > 0 && json.Unmarshal(headers, &h.ResponseHeaders) != nil {
		h.ResponseHeaders = nil
	}
	c.HTTP = append(c.HTTP, h)
}

// Stored notes a use of the key-value store.
func (c *Call) Stored(key string, value []byte, set bool) {
	if c != nil && c.room(len(key)+len(value)) {
		c.KV = append(c.KV, KV{key, bytes.Clone(value), set})
	}
}

// Served notes a request to a service with the answer, which have about n bytes. Both are kept, and
// encoded when the call is handed over.
func (c *Call) Served(name string, request, answer any, n int) {
	if c != nil && c.room(n) {
		c.Services = append(c.Services, Service{Name: name, asked: request, got: answer})
	}
}

// encode encodes what services were asked. What cannot be encoded is left out.
func (c *Call) encode() {
	list := c.Services
	c.Services = nil
	for _, s := range list {
		var asked, answered error
		if s.asked != nil {
			s.Request, asked = json.Marshal(s.asked)
			s.Answer, answered = json.Marshal(s.got)
		}
		if asked == nil && answered == nil {
			c.Services = append(c.Services, s)
		}
	}
}

// Counted notes a text whose tokens were counted.
func (c *Call) Counted(text string, tokens int) {
	if c != nil && c.room(len(text)) {
		c.Counts = append(c.Counts, Count{text, tokens})
	}
}

// Logged notes a line of the log.
func (c *Call) Logged(level, line string) {
	if c != nil && c.room(len(line)) {
		c.Log = append(c.Log, level+": "+line)
	}
}

// overhead is what the host counts for each entry beyond its texts, in bytes.
const overhead = 128

// room takes room for n bytes, or counts them as left out.
func (c *Call) room(n int) bool {
	if !c.Fits(n) {
		return false
	}
	c.used += int64(n) + overhead
	return true
}

// most is how many bytes are collected.
func (c *Call) most() int64 {
	if c.brief {
		return MaxFailureBytes
	}
	return MaxBytes
}

// Size is what the documents and texts of the call take, in bytes.
func (c *Call) Size() int64 {
	n := len(c.Request) + len(c.Answer) + len(c.Init) + size(c.Config) + len(c.Err)
	for i := range c.HTTP {
		h := &c.HTTP[i]
		n += len(h.URL) + size(h.Headers) + len(h.Body) + size(h.ResponseHeaders) + len(h.ResponseBody) + overhead
	}
	for i := range c.KV {
		n += len(c.KV[i].Key) + len(c.KV[i].Value) + overhead
	}
	for i := range c.Services {
		n += len(c.Services[i].Request) + len(c.Services[i].Answer) + overhead
	}
	for i := range c.Counts {
		n += len(c.Counts[i].Text) + overhead
	}
	for i := range c.Log {
		n += len(c.Log[i]) + overhead
	}
	return int64(n)
}

func size(m map[string]string) (n int) {
	for k, v := range m {
		n += len(k) + len(v)
	}
	return n
}
