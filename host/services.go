package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline/tokens"
)

// kvGet returns the value of a key, 0 if there is none.
func kvGet(c *callState, s []uint64) {
	store := c.store()
	if c.inst.kernel.Length(s[0]) == 0 {
		s[0] = 0
		return
	}
	key := c.key(s[0], "anchor_kv_get: the key")
	value, ok := c.stored(store, key)
	s[0] = 0
	if !ok {
		return
	}
	if s[0] = c.put(value); s[0] == 0 {
		panic(faultf(abi.ReasonMemory, "value of key %q: no room for %d bytes", oneLine(key), len(value)))
	}
}

// The statuses of anchor_kv_set.
const (
	kvDone  = 0
	kvQuota = 1
)

// kvSet stores a value. An empty value, or the handle 0, deletes the key.
func kvSet(c *callState, s []uint64) {
	store := c.store()
	p := pluginOf(c.inst)
	key := c.key(s[0], "anchor_kv_set: the key")
	value, _ := c.inst.kernel.Bytes(s[1])
	c.spend(min(int64(len(value)), p.granted.kvQuota))
	err := c.keep(store, key, value)
	s[0] = kvDone
	if err != nil {
		s[0] = kvQuota
	}
	if errors.Is(err, errKVFull) { // the status alone would blame the quota
		c.inst.out.line("warn", "anchor_kv_set: "+err.Error())
	}
}

// store names the key-value store of the plugin and the call's tenant. Without a grant the
// call ends.
func (c *callState) store() KVOwner {
	p := pluginOf(c.inst)
	if p.granted.kvQuota == 0 {
		panic(denied("kv", asked("grants.kv", p.spec.Foreign)))
	}
	c.inst.outside = true
	return KVOwner{Plugin: p.name, Tenant: tenantOf(c.Context)}
}

// countTokens counts the tokens of a block with the host's tokenizer. It refuses texts so long
// that counting them would take too long; the guest can count them in parts.
func countTokens(c *callState, s []uint64) {
	p := pluginOf(c.inst)
	if !slices.Contains(p.granted.services, ServiceCountTokens) {
		panic(denied("service "+ServiceCountTokens, asked("grants.services", p.spec.Foreign)))
	}
	text, _ := c.inst.kernel.Bytes(s[0])
	if len(text) > maxTokenText {
		panic(&fault{code: abi.ReasonInputTooLarge, remedy: "count it in parts",
			err: fmt.Errorf("anchor_count_tokens: text of %d bytes, allowed %d", len(text), maxTokenText)})
	}
	c.spend(costTokenByte * int64(len(text)))
	ctx, cancel := c.context()
	defer cancel()
	counts, err := p.host.countTokens(ctx, string(text))
	if err != nil {
		c.stop()
		panic(&fault{code: abi.ReasonTrap, err: err})
	}
	s[0] = uint64(counts[0])
}

// A Tokenizer counts tokens. It must be safe for concurrent use. The tokenizers of package
// pipeline implement it.
type Tokenizer interface {
	// Name identifies the vocabulary: tokenizers of the same name count the same.
	Name() string
	// Count returns the number of tokens of each text, in order.
	Count(ctx context.Context, texts ...string) ([]int, error)
}

// tokenizer is the host's tokenizer. It is loaded when it is first needed.
type tokenizer struct {
	given Tokenizer
	once  sync.Once
	err   error
}

func (t *tokenizer) load() (Tokenizer, error) {
	t.once.Do(func() {
		if t.given != nil {
			return
		}
		var encoding *tokens.Encoding
		if encoding, t.err = tokens.Get(defaultEncoding); t.err == nil {
			t.given = encoding
		}
	})
	return t.given, t.err
}

// defaultEncoding is the encoding that a build counts with if none is configured.
const defaultEncoding = "cl100k_base"
