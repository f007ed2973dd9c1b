package host

import (
	"fmt"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

// kvGet returns the value of a key, or 0 when there is none.
func kvGet(c *callState, s []uint64) {
	store := c.inst.store()
	if c.inst.kernel.Length(s[0]) == 0 {
		s[0] = 0
		return
	}
	key := c.key(s[0], "anchor_kv_get: the key")
	value, ok := store.get(key)
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

// kvSet stores a value, or deletes the key when the value is 0 or empty.
func kvSet(c *callState, s []uint64) {
	store := c.inst.store()
	key := c.key(s[0], "anchor_kv_set: the key")
	value, _ := c.inst.kernel.Bytes(s[1])
	c.spend(min(int64(len(value)), c.inst.plugin.granted.kvQuota))
	s[0] = kvDone
	if !store.set(key, value) {
		s[0] = kvQuota
	}
}

// store is the key-value store of the plugin; without a grant the call ends.
func (in *instance) store() *kvStore {
	if in.plugin.kv == nil {
		panic(denied("kv", asked("grants.kv", in.plugin.spec.Foreign)))
	}
	in.outside = true
	return in.plugin.kv
}

// countTokens counts the tokens of a block by the host's tokenizer. A text that
// would hold up the call is refused: its parts can be counted.
func countTokens(c *callState, s []uint64) {
	p := c.inst.plugin
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

// tokenizer is the host's tokenizer, loaded when first needed.
type tokenizer struct {
	given pipeline.Tokenizer
	once  sync.Once
	err   error
}

func (t *tokenizer) load() (pipeline.Tokenizer, error) {
	t.once.Do(func() {
		if t.given == nil {
			t.given, t.err = pipeline.EncodingTokenizer(defaultEncoding)
		}
	})
	return t.given, t.err
}

// defaultEncoding is what a build counts by when nothing else is set.
const defaultEncoding = "cl100k_base"
