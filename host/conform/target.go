package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/pipeline"
)

// DefaultTimeout bounds one call: long enough for thousands of items in an
// interpreter on a busy machine. How fast a plugin is, is a question for
// measurements.
const DefaultTimeout = 20 * time.Second

// Target is a plugin of this host, for conformance.Run.
type Target struct {
	// Sealed says that the transport of the host is an [Exchanges], so that what servers answer
	// is the same every time.
	Sealed bool

	host   *host.Host
	spec   *spec.Spec
	config host.PluginConfig
}

// New makes a target of a plugin. cfg has grants and limits; clock and random
// numbers are fixed whatever it says, and lanes and state are the kit's to
// choose.
func New(h *host.Host, spec *spec.Spec, cfg host.PluginConfig) *Target {
	return &Target{host: h, spec: spec, config: Settle(cfg)}
}

// Settle returns a configuration with the limits of the kit, and with fixed clock and random
// numbers.
func Settle(cfg host.PluginConfig) host.PluginConfig {
	cfg.Limits.Timeout = cmp.Or(cfg.Limits.Timeout, DefaultTimeout)
	cfg.Limits.Fuel = cmp.Or(cfg.Limits.Fuel, int64(DefaultTimeout/host.DefaultTimeout)*host.DefaultFuel)
	cfg.Limits.QueueTimeout = cmp.Or(cfg.Limits.QueueTimeout, cfg.Limits.Timeout)
	cfg.Deterministic, cfg.Lane, cfg.Limits.Instances, cfg.Limits.BreakAfter = true, host.LaneAuto, 1, host.Unlimited
	return cfg
}

// countTokens counts as a build without a tokenizer of its own does. The
// vocabulary is loaded when it is first needed.
func countTokens(ctx context.Context, texts ...string) ([]int, error) {
	t, err := defaultTokenizer()
	if err != nil {
		return nil, err
	}
	return t.Count(ctx, texts...)
}

var defaultTokenizer = sync.OnceValues(func() (pipeline.Tokenizer, error) { return pipeline.EncodingTokenizer("cl100k_base") })

// Describe implements conformance.Target.
func (t *Target) Describe() conformance.Description {
	g := t.config.Grants
	d := conformance.Description{
		Manifest: t.spec.Manifest, Digest: t.spec.Digest, Size: t.spec.Size, CountTokens: countTokens,
		MaxItems: bound(t.config.Limits.Items, host.DefaultItems), MaxTokens: bound(t.config.Limits.Tokens, host.DefaultTokens),
		Remembers: g.KV != nil && t.asks(manifest.PermissionKV) || g.HTTP != nil && !t.Sealed && t.asks(manifest.PermissionHTTP) || writable(g.Files) && t.asks(manifest.PermissionFiles),
	}
	for _, o := range t.spec.Operations {
		if o.Operation != abi.OpInit {
			d.Operations = append(d.Operations, operation(o))
		}
	}
	return d
}

// asks reports whether the plugin asks for a permission. Without that, a grant has no effect.
func (t *Target) asks(kind string) bool {
	m := t.spec.Manifest
	return m == nil || slices.ContainsFunc(m.Permissions, func(p manifest.Permission) bool { return p.Kind == kind })
}

// bound is a limit as the kit knows it, where 0 means that there is none. The kit does not check
// answers against a limit of None.
func bound(v, def int) int {
	switch v {
	case 0:
		return def
	case host.Unlimited, host.None:
		return 0
	}
	return v
}

func writable(files []host.FileGrant) bool {
	return slices.ContainsFunc(files, func(f host.FileGrant) bool { return f.Mode == host.ModeRW })
}

// operation is what a step without options is granted, and the priority that
// the manifest asks for.
func operation(o spec.Operation) conformance.Operation {
	sources := []pipeline.Source{pipeline.SourceRetrieval}
	if o.Operation == abi.OpMemory {
		sources = []pipeline.Source{pipeline.SourceMemory, pipeline.SourceConversation}
	}
	out := conformance.Operation{
		Operation: o.Operation, Unused: o.Unused, Reads: o.Reads, Parts: o.Parts, Writes: o.Writes, MaxPriority: o.MaxPriority,
	}
	for _, lane := range o.Lanes {
		out.Lanes = append(out.Lanes, string(lane))
	}
	for _, s := range sources {
		out.Sources = append(out.Sources, string(s))
	}
	out.MaxPriority = cmp.Or(out.MaxPriority, sources[0].DefaultPriority())
	return out
}

// Settings implements conformance.Target.
func (t *Target) Settings(op abi.Operation, settings map[string]any) (json.RawMessage, error) {
	return t.spec.CheckSettings(op, settings)
}

// Load implements conformance.Target.
func (t *Target) Load(ctx context.Context, o conformance.LoadOptions) (conformance.Guest, error) {
	cfg := t.config
	cfg.Settings, cfg.State = o.Settings, host.StateAuto
	if o.Config != nil {
		cfg.Config = o.Config
	}
	if o.Keep {
		cfg.State = host.StateKeep
	}
	p, err := t.host.Load(ctx, t.spec, cfg)
	if err != nil {
		return nil, trace(err)
	}
	return guest{p}, nil
}

// guest is a loaded plugin.
type guest struct{ plugin *host.Plugin }

func (g guest) Call(ctx context.Context, c conformance.Call) (*conformance.Answer, error) {
	lane := host.Lane(c.Lane)
	if c.Extism {
		lane = host.LaneExtism
	}
	x, err := g.plugin.Exchange(ctx, c.Operation, lane, c.Request)
	if err != nil {
		return nil, trace(err)
	}
	return &conformance.Answer{Status: x.Status, Output: x.Output, Memory: x.Memory, Fuel: x.Fuel, Time: x.Time}, nil
}

// tracedError tells the kit what the guest wrote, and its call stack.
type tracedError struct{ *host.PluginError }

// GuestTrace returns what the guest wrote in the call, and its call stack after a trap.
func (e tracedError) GuestTrace() (wrote, stack string) { return e.Log, e.Stack }

// Unwrap returns the error of the host.
func (e tracedError) Unwrap() error { return e.PluginError }

func trace(err error) error {
	var failed *host.PluginError
	if !errors.As(err, &failed) {
		return err
	}
	return tracedError{failed}
}

func (g guest) Close(ctx context.Context) error { return g.plugin.Close(ctx) }
