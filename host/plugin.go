package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/mounts"
	"github.com/anchor-host/anchor-host/host/internal/pool"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/settings"
	"github.com/anchor-host/anchor-host/internal/units"
	"github.com/anchor-host/anchor-host/store"
)

// Load makes a plugin from a spec: it checks the configuration, compiles the module (or finds
// it in the cache), starts one instance, runs its init and makes its self-tests.
//
// Errors wrap ErrConfig, ErrImport, ErrSignature, ErrNotWasm, ErrTooLarge or ErrClosed. If the
// guest cannot start, the error is a *PluginError with the reason init_failed. If the host has
// no place for another instance, it is one with the reason busy. Load waits for a place and
// for memory for at most Limits.QueueTimeout, if others can give them back. When ctx ends,
// Load returns; a running compilation goes on, and its result is kept for the next Load of the
// module.
func (h *Host) Load(ctx context.Context, spec *spec.Spec, cfg PluginConfig) (*Plugin, error) {
	p := &Plugin{host: h, spec: spec, cfg: cfg.clone(), name: cfg.Name, counts: new(counters),
		timer: new(stackTimer), opened: make(chan struct{}), files: mounts.NewBudget()}
	p.timer.plugin.Store(p)
	if h.cfg.OnRecord != nil {
		p.cfg.Deterministic = true
	}
	if p.name == "" {
		p.name = spec.Name
	}
	p.secrets = guesttext.NewSecrets(p.cfg.secretTexts())
	p.log = p.secrets.Logger(h.cfg.Logger.With("plugin", p.name))
	p.guard = guard.New(p.log)
	if err := p.configure(); err != nil {
		return nil, fmt.Errorf("plugin %q: %w", p.name, err)
	}
	if err := p.open(WithTenant(ctx, store.DefaultTenant)); err != nil {
		// No call runs, so closing does not take long. Its error would hide the first one.
		_ = p.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return p, nil
}

// configure checks what can be checked without running the guest.
func (p *Plugin) configure() error {
	if err := errors.Join(checkChoice("engine", p.cfg.Engine, engines), checkChoice("lane", p.cfg.Lane, lanes), checkChoice("state", p.cfg.State, states), p.cfg.Limits.Check()); err != nil {
		return err
	}
	if err := p.checkLinks(); err != nil {
		return err
	}
	var cut, notes []string
	var err error
	if p.limits, cut, err = effectiveLimits(p.cfg.Limits, p.host.cfg.DefaultLimits, p.host.cfg.MaxInstances, p.spec.Manifest); err != nil {
		return err
	}
	if need := int64(p.spec.MemoryPages) * wasmPage; need > p.limits.Memory {
		return fmt.Errorf("limits.memory %s: %w (the module starts with %s: raise it to that at least, pages of 64KiB count)", units.FormatSize(p.limits.Memory), ErrConfig, units.FormatSize(need))
	}
	if p.granted, notes, err = intersect(p.spec.Manifest, p.cfg.Grants); err != nil {
		return err
	}
	if missing := p.granted.ask.Missing(p.host.cfg.Services); missing != "" {
		return fmt.Errorf("grants.%s: %w (the host offers no such service: set it in Config.Services)", missing, ErrConfig)
	}
	p.state = StateOf(p.spec, p.cfg.State)
	p.notes = append(cut, notes...)
	if m := p.spec.Manifest; m != nil && m.Deprecated != "" {
		p.notes = append(p.notes, "the plugin is deprecated: "+guesttext.Line(m.Deprecated))
	}
	for _, n := range p.notes {
		p.log.Warn(n)
	}
	if p.state == StateFresh && p.cfg.State != StateFresh {
		p.noteFresh(p.spec.Uncaptured)
	}
	return p.settle()
}

// settle checks the init settings and prepares what the guest receives of them.
func (p *Plugin) settle() error {
	p.schemas = map[abi.Operation]*settings.Schema{}
	var raw json.RawMessage
	if m := p.spec.Manifest; m != nil {
		raw = m.Settings
		for op, o := range m.Operations {
			s, err := settings.Compile(o.Settings)
			if err != nil {
				return err
			}
			p.schemas[op] = s
		}
	} else if len(p.cfg.Settings) > 0 {
		return fmt.Errorf("settings: %w (a foreign module has none; use config)", ErrConfig)
	}
	schema, err := settings.Compile(raw)
	if err != nil {
		return err
	}
	canonical, full, err := checkSettings(schema, p.cfg.Settings)
	if err != nil {
		return err
	}
	p.initSchema, p.secret = schema, schema.Secret(p.cfg.Settings)
	p.values = settings.Scalars(full)
	for k, v := range p.cfg.Config {
		p.values[k] = v
	}
	p.initRequest, err = json.Marshal(abi.InitRequest{Settings: canonical})
	return err
}

// checkSettings calls the Check of schema. Its errors wrap ErrConfig.
func checkSettings(schema *settings.Schema, given map[string]any) (json.RawMessage, map[string]any, error) {
	canonical, full, err := schema.Check(given)
	if err != nil {
		return nil, nil, fmt.Errorf("settings: %w: %w", ErrConfig, err)
	}
	return canonical, full, nil
}

// open takes the plugin's resources and starts its first instance. Close may run at the same
// time as soon as the plugin is in h.plugins.
func (p *Plugin) open(ctx context.Context) error {
	defer close(p.opened)
	h := p.host
	p.account = h.turns.NewAccount()
	p.breakers = fairness.NewBreakers(fairness.Rules{After: p.limits.BreakAfter, First: firstBreak, Most: p.limits.BreakMost}, guest.Clock)
	err := p.openPool(ctx)
	if err != nil {
		return p.failure(abi.OpInit, nil, err)
	}
	if err = p.openMounts(ctx); err != nil {
		return fmt.Errorf("plugin %q: %w", p.name, errkind.As(ErrConfig, err))
	}
	if slices.Contains(p.granted.services, manifest.ServiceCountTokens) {
		// The first count loads a vocabulary, which takes longer than a call is allowed to.
		if _, err = h.tokens.Count(ctx, p.name); err != nil {
			return fmt.Errorf("plugin %q: %w", p.name, err)
		}
	}
	p.openClient()
	kind := h.engineKind(p.cfg.Engine)
	if p.module, err = h.module(ctx, p.name, p.spec, kind, p.limits); err != nil {
		return fmt.Errorf("plugin %q: %w", p.name, err)
	}
	p.engine = p.module.Engine
	if err = p.compileLinks(ctx, kind); err != nil {
		return fmt.Errorf("plugin %q: %w", p.name, err)
	}
	p.prepareStart(ctx)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return fmt.Errorf("plugin %q: host: %w", p.name, ErrClosed)
	}
	h.plugins[p] = true
	h.mu.Unlock()
	p.share.Open(p.pool)
	name, unkept := p.imageName(ctx)
	if p.restore(ctx, name) {
		return p.selfTest(ctx)
	}
	began := time.Now()
	if err := h.room.Wait(ctx, p.limits.QueueTimeout, func() error { return p.pool.First(ctx, p.capture) }); err != nil {
		return p.failure(abi.OpInit, nil, err)
	}
	if took := time.Since(began); took >= h.slowInit && unkept != nil {
		p.log.Warn("the state after init is not kept on disk, so each process runs init again", "reason", unkept)
	} else {
		p.preserve(ctx, name, took)
	}
	return p.selfTest(ctx)
}

// openPool makes an empty pool and takes the plugin's place among the host's instances.
func (p *Plugin) openPool(ctx context.Context) error {
	p.share = p.host.room.NewShare(p.limits.IdleTimeout)
	o := pool.Options[*guest.Instance]{Max: p.limits.Instances, Min: p.limits.MinInstances,
		Make: p.pooled, Close: (*guest.Instance).Close, Stamp: (*guest.Instance).LastUsed}
	if p.state != StateKeep {
		o.Clean, o.Quick = (*guest.Instance).Reset, (*guest.Instance).QuickToReset
	}
	p.pool = pool.New(o)
	return p.reserve(ctx)
}

// Close closes the plugin and its sessions. It waits for running calls until ctx ends, and may
// be called again.
func (p *Plugin) Close(ctx context.Context) error {
	if err := errors.Join(p.pool.Shutdown(ctx), p.sessions.close(ctx)); err != nil {
		return fmt.Errorf("plugin %q: close: wait for running calls: %w", p.name, err)
	}
	if err := pool.WaitFor(ctx, p.opened); err != nil {
		return fmt.Errorf("plugin %q: close: wait until it is loaded: %w", p.name, err)
	}
	p.closing.Lock()
	defer p.closing.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	p.timer.plugin.Store(nil)
	h := p.host
	h.mu.Lock()
	delete(h.plugins, p)
	h.mu.Unlock()
	p.mounts.Close()
	p.forget()
	p.share.Close()
	if p.client != nil {
		p.client.Close()
	}
	var errs []error
	for _, l := range p.links {
		if l.module != nil {
			errs = append(errs, h.compiler.Release(ctx, l.module))
		}
		if l.circle != nil {
			l.circle.Close(ctx)
		}
	}
	if p.module != nil {
		errs = append(errs, h.compiler.Release(ctx, p.module))
	}
	return errors.Join(errs...)
}

// Name returns the name of the configured plugin.
func (p *Plugin) Name() string { return p.name }

// Spec returns what is known of the module without running it. It must not be changed.
func (p *Plugin) Spec() *spec.Spec { return p.spec }

// Limits returns the limits in force for the plugin.
func (p *Plugin) Limits() Limits { return p.limits }

// StateOf returns what happens to instances between calls if the configuration states stated:
// StateReset, StateKeep or StateFresh. What init leaves behind can still turn StateReset into
// StateFresh; see [Plugin.State].
func StateOf(s *spec.Spec, stated State) State {
	if stated == StateAuto && s.Foreign {
		return StateKeep
	}
	if stated == StateAuto {
		stated = StateReset
	}
	if stated == StateReset && s.Uncaptured != "" {
		return StateFresh
	}
	return stated
}

// State returns what happens to an instance between calls: StateReset, StateKeep or StateFresh.
func (p *Plugin) State() State { return p.state }

// Notes returns what an operator should know about limits, grants and state: what the plugin
// asks for and does not get, what is granted although it does not ask for it, and why its
// instances cannot be reset.
func (p *Plugin) Notes() []string { return append([]string(nil), p.notes...) }
