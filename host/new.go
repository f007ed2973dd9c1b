package host

import (
	"context"
	"runtime"

	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/imports"
	"github.com/anchor-host/anchor-host/tokens"
)

// New makes a host. Errors wrap ErrConfig and name the field of cfg that is not valid, or
// wrap [ErrAddressSpace].
func New(cfg Config) (*Host, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Memory, err = capacity.BoundMemory(cfg.Memory); err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg, plugins: map[*Plugin]bool{}}
	h.room = capacity.New(capacity.Options{Instances: int64(cfg.MaxInstances), Memory: cfg.Memory, Share: cfg.shareOfOne(), Clock: guest.Clock})
	h.kv = newStores(&cfg)
	h.tokens = imports.NewTokenizer(cfg.Tokenizer, readEncoding)
	h.turns = fairness.NewQueue(guest.Clock, func() int { return runtime.GOMAXPROCS(0) })
	if h.root, h.noRoot = openRoot(cfg.CacheDir, cfg.Logger); h.noRoot != nil {
		cfg.Logger.Warn("nothing is kept between processes: each process compiles modules again", "reason", h.noRoot)
	}
	if h.root != nil {
		h.kept, h.images = h.root.facts, openImages(h.root, cfg.ImageCache)
	}
	h.compiler = compile.New(h.cfg.compileOptions(h.root))
	h.slowInit = slowInit
	return h, nil
}

// Tokenizer returns the tokenizer that counts the tokens of what guests add. It loads the
// tokenizer if that has not been done.
func (h *Host) Tokenizer() (Tokenizer, error) { return h.tokens.Load(context.Background()) }

// readEncoding reads the encoding that a build counts with if none is configured.
func readEncoding() (imports.Vocabulary, error) {
	encoding, err := tokens.Get("cl100k_base")
	if err != nil {
		return nil, err
	}
	return encoding, nil
}
