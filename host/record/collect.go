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
	// To receives each call.
	To func(Call)

	mu sync.Mutex
	// init is what the last init asked the host for.
	init *Call
}

// Begin begins to collect a call. Without a plugin it returns nil, which collects nothing.
func (p *Plugin) Begin() *Call {
	if p == nil {
		return nil
	}
	return new(Call)
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

// End hands over a call that has ended with an error, "" for none.
func (p *Plugin) End(c *Call, op abi.Operation, step, err string) {
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
	out.Plugin, out.Module, out.Operation, out.Step, out.Err = p.Name, p.Module, op, step, err
	out.Init, out.Config = member(p.Init, "settings"), p.Config
	secrets := append(p.Secrets[:len(p.Secrets):len(p.Secrets)], out.shown()...)
	secrets = append(secrets, p.Settings(op, member(out.Request, "settings"))...)
	secrets = append(secrets, p.Settings(abi.OpInit, out.Init)...)
	h := newHider(secrets)
	h.call(&out)
	out.Hide = h.text
	p.To(out)
}

// member is a member of a JSON object, nil where there is none.
func member(doc []byte, name string) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(doc, &members) != nil {
		return nil
	}
	return members[name]
}

// Ask notes the request of a call. c may be nil, as in all other methods.
func (c *Call) Ask(request []byte) {
	if c != nil && c.room(len(request)) {
		c.Request = bytes.Clone(request)
	}
}

// Reply notes the answer of a call.
func (c *Call) Reply(noChange bool, answer []byte) {
	if c == nil {
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

// Served notes a request to a service with the answer. Both are kept.
func (c *Call) Served(name string, request, answer []byte) {
	if c != nil && c.room(len(request)+len(answer)) {
		c.Services = append(c.Services, Service{name, request, answer})
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
	if c.used+int64(n)+overhead > MaxBytes {
		c.LeftOut += int64(n)
		return false
	}
	c.used += int64(n) + overhead
	return true
}

func size(m map[string]string) (n int) {
	for k, v := range m {
		n += len(k) + len(v)
	}
	return n
}
