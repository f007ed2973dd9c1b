package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/kv"
	"github.com/anchor-host/anchor-host/host/internal/pool"
	"github.com/anchor-host/anchor-host/pipeline/tokens"
)

// kvGet returns the value of a key, 0 if there is none.
func kvGet(c *guest.Call, s []uint64) {
	store := storeOf(c)
	if c.Instance.Kernel.Length(s[0]) == 0 {
		s[0] = 0
		return
	}
	key := c.Key(s[0], "anchor_kv_get: the key")
	value := stored(c, store, key)
	s[0] = 0
	if len(value) == 0 {
		return
	}
	if s[0] = c.Put(value); s[0] == 0 {
		panic(guest.Faultf(abi.ReasonMemory, "value of key %q: no room for %d bytes", oneLine(key), len(value)))
	}
}

// The statuses of anchor_kv_set.
const (
	kvDone  = 0
	kvQuota = 1 // the quota of the plugin has no room
	kvFull  = 2 // the host has no room, for any plugin
)

// kvSet stores a value. An empty value, or the handle 0, deletes the key.
func kvSet(c *guest.Call, s []uint64) {
	store := storeOf(c)
	p := pluginOf(c.Instance)
	key := c.Key(s[0], "anchor_kv_set: the key")
	value, _ := c.Instance.Kernel.Bytes(s[1])
	c.Spend(min(int64(len(value)), p.granted.kvQuota))
	err := keep(c, store, key, value)
	switch {
	case err == nil:
		s[0] = kvDone
	case errors.Is(err, kv.ErrFull):
		s[0] = kvFull
		c.Instance.WASI.Output.Line("warn", "anchor_kv_set: "+err.Error())
	default:
		s[0] = kvQuota
	}
}

// storeOf names the key-value store of the plugin and the call's tenant. Without a grant the
// call ends.
func storeOf(c *guest.Call) kv.Owner {
	p := pluginOf(c.Instance)
	if p.granted.kvQuota == 0 {
		panic(denied("kv", asked("grants.kv", p.spec.Foreign)))
	}
	c.Instance.Outside = true
	return kv.Owner{Plugin: p.name, Tenant: tenantOf(c.Context)}
}

const (
	// costTokenByte is the fuel for each byte of text to be tokenized.
	costTokenByte = 32
	// maxTokenText bounds a text whose tokens are counted, in bytes: several windows of the
	// largest models, and about 30 ms of work that nothing interrupts.
	maxTokenText = 1 << 20
)

// countTokens counts the tokens of a block with the host's tokenizer. It refuses texts so long
// that counting them would take too long; the guest can count them in parts.
func countTokens(c *guest.Call, s []uint64) {
	p := pluginOf(c.Instance)
	if !slices.Contains(p.granted.services, ServiceCountTokens) {
		panic(denied("service "+ServiceCountTokens, asked("grants.services", p.spec.Foreign)))
	}
	text, _ := c.Instance.Kernel.Bytes(s[0])
	if len(text) > maxTokenText {
		panic(&guest.Fault{Reason: abi.ReasonInputTooLarge, Remedy: "count it in parts",
			Err: fmt.Errorf("anchor_count_tokens: text of %d bytes, allowed %d", len(text), maxTokenText)})
	}
	c.Spend(costTokenByte * int64(len(text)))
	ctx, cancel := c.Bounded()
	defer cancel()
	counts, err := p.host.countTokens(ctx, string(text))
	if err != nil {
		c.Stop()
		panic(&guest.Fault{Reason: abi.ReasonTrap, Err: err})
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
	// loaded is closed when given, or err, is there.
	loaded chan struct{}
	err    error
}

// load returns the tokenizer, and loads it when it is first needed. It returns when ctx ends,
// while the loading goes on.
func (t *tokenizer) load(ctx context.Context) (Tokenizer, error) {
	t.once.Do(func() {
		t.loaded = make(chan struct{})
		if t.given != nil {
			close(t.loaded)
			return
		}
		go func() {
			defer close(t.loaded)
			var encoding *tokens.Encoding
			if encoding, t.err = tokens.Get(defaultEncoding); t.err == nil {
				t.given = encoding
			}
		}()
	})
	if err := pool.WaitFor(ctx, t.loaded); err != nil {
		return nil, err
	}
	return t.given, t.err
}

// defaultEncoding is the encoding that a build counts with if none is configured.
const defaultEncoding = "cl100k_base"
