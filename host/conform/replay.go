package conform

import (
	"context"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host"
)

// Replays makes a configuration answer from cases that have recorded values, where there are any:
// the key-value store and the numbers of tokens. The plugin is granted what the cases need.
func Replays(cfg *host.Config, pc *host.PluginConfig, cases []conformance.OwnCase) {
	if slices.ContainsFunc(cases, func(c conformance.OwnCase) bool { return c.KV != nil }) {
		cfg.KVStore = &store{}
		if pc.Grants.KV == nil {
			pc.Grants.KV = &host.KVGrant{}
		}
	}
	if slices.ContainsFunc(cases, func(c conformance.OwnCase) bool { return c.Tokens != nil }) {
		cfg.Tokenizer = tokenizer{}
		if !slices.Contains(pc.Grants.Services, manifest.ServiceCountTokens) {
			pc.Grants.Services = append(slices.Clone(pc.Grants.Services), manifest.ServiceCountTokens)
		}
	}
}

// store keeps the values of a case while it runs, and those of all other calls.
type store struct {
	mu     sync.Mutex
	others map[host.KVOwner]*conformance.Replay
}

// of returns the values of a call.
func (s *store) of(ctx context.Context, owner host.KVOwner) *conformance.Replay {
	if r := conformance.ReplayOf(ctx); r.Stores() {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.others == nil {
		s.others = map[host.KVOwner]*conformance.Replay{}
	}
	if s.others[owner] == nil {
		s.others[owner] = conformance.ReplayOf(conformance.WithCase(ctx, &conformance.OwnCase{}))
	}
	return s.others[owner]
}

func (s *store) Get(ctx context.Context, owner host.KVOwner, key string) ([]byte, error) {
	return s.of(ctx, owner).Get(key), nil
}

func (s *store) Set(ctx context.Context, owner host.KVOwner, key string, value []byte) error {
	s.of(ctx, owner).Set(key, value)
	return nil
}

func (s *store) Delete(ctx context.Context, owner host.KVOwner, key string) error {
	s.of(ctx, owner).Set(key, nil)
	return nil
}

func (s *store) Usage(ctx context.Context, owner host.KVOwner) (keys, bytes int64, err error) {
	keys, bytes = s.of(ctx, owner).Usage()
	return keys, bytes, nil
}

func (s *store) Forget(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.others = nil
	return nil
}

// tokenizer returns the numbers of the case that runs, and counts other texts.
type tokenizer struct{}

func (tokenizer) Name() string { return "replay" }

func (tokenizer) Count(ctx context.Context, texts ...string) ([]int, error) {
	r := conformance.ReplayOf(ctx)
	out := make([]int, len(texts))
	for i, text := range texts {
		if n, ok := r.Tokens(text); ok {
			out[i] = n
			continue
		}
		n, err := countTokens(ctx, text)
		if err != nil {
			return nil, err
		}
		out[i] = n[0]
	}
	return out, nil
}

var _ host.Tokenizer = tokenizer{}
