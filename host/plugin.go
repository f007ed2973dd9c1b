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
	set := &setup{host: h, spec: spec, cfg: cfg.clone(), name: cfg.Name}
	p := &Plugin{setup: set, lending: lending{setup: set, timer: new(stackTimer)}, starting: starting{setup: set},
		counting: counting{new(counters), &h.counts}, opened: make(chan struct{}), files: mounts.NewBudget()}
	p.lending.timer.of.Store(&p.lending)
	if h.cfg.OnRecord != nil {
		p.setup.cfg.Deterministic = true
	}
	if p.setup.name == "" {
		p.setup.name = spec.Name
	}
	p.setup.secrets = guesttext.NewSecrets(p.setup.cfg.secretTexts())
	p.setup.log = p.setup.secrets.Logger(h.cfg.Logger.With("plugin", p.setup.name))
	p.guard = guard.New(p.setup.log)
	if err := p.setup.configure(); err != nil {
		return nil, fmt.Errorf("plugin %q: %w", p.setup.name, err)
	}
	if err := p.open(WithTenant(ctx, store.DefaultTenant)); err != nil {
		// No call runs, so closing does not take long. Its error would hide the first one.
		_ = p.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return p, nil
}

// configure checks what can be checked without running the guest.
func (set *setup) configure() error {
	if err := errors.Join(checkChoice("engine", set.cfg.Engine, engines), checkChoice("lane", set.cfg.Lane, lanes), checkChoice("state", set.cfg.State, states), set.cfg.Limits.Check()); err != nil {
		return err
	}
	if err := set.checkLinks(); err != nil {
		return err
	}
	var cut, notes []string
	var err error
	if set.limits, cut, err = effectiveLimits(set.cfg.Limits, set.host.cfg.DefaultLimits, set.host.cfg.MaxInstances, set.spec.Manifest); err != nil {
		return err
	}
	if need := int64(set.spec.MemoryPages) * wasmPage; need > set.limits.Memory {
		return fmt.Errorf("limits.memory %s: %w (the module starts with %s: raise it to that at least, pages of 64KiB count)", units.FormatSize(set.limits.Memory), ErrConfig, units.FormatSize(need))
	}
	if set.granted, notes, err = intersect(set.spec.Manifest, set.cfg.Grants); err != nil {
		return err
	}
	if missing := set.granted.ask.Missing(set.host.cfg.Services); missing != "" {
		return fmt.Errorf("grants.%s: %w (the host offers no such service: set it in Config.Services)", missing, ErrConfig)
	}
	set.state = StateOf(set.spec, set.cfg.State)
	set.notes = append(cut, notes...)
	if m := set.spec.Manifest; m != nil && m.Deprecated != "" {
		set.notes = append(set.notes, "the plugin is deprecated: "+guesttext.Line(m.Deprecated))
	}
	for _, n := range set.notes {
		set.log.Warn(n)
	}
	if set.state == StateFresh && set.cfg.State != StateFresh {
		set.noteFresh(set.spec.Uncaptured)
	}
	return set.settle()
}

// settle checks the init settings and prepares what the guest receives of them.
func (set *setup) settle() error {
	set.schemas = map[abi.Operation]*settings.Schema{}
	var raw json.RawMessage
	if m := set.spec.Manifest; m != nil {
		raw = m.Settings
		for op, o := range m.Operations {
			s, err := settings.Compile(o.Settings)
			if err != nil {
				return err
			}
			set.schemas[op] = s
		}
	} else if len(set.cfg.Settings) > 0 {
		return fmt.Errorf("settings: %w (a foreign module has none; use config)", ErrConfig)
	}
	schema, err := settings.Compile(raw)
	if err != nil {
		return err
	}
	canonical, full, err := checkSettings(schema, set.cfg.Settings)
	if err != nil {
		return err
	}
	set.initSchema, set.secret = schema, schema.Secret(set.cfg.Settings)
	set.values = settings.Scalars(full)
	for k, v := range set.cfg.Config {
		set.values[k] = v
	}
	set.initRequest, err = json.Marshal(abi.InitRequest{Settings: canonical})
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
	h := p.setup.host
	p.lending.account = h.turns.NewAccount()
	p.lending.breakers = fairness.NewBreakers(fairness.Rules{After: p.setup.limits.BreakAfter, First: firstBreak, Most: p.setup.limits.BreakMost}, guest.Clock)
	err := p.openPool(ctx)
	if err != nil {
		return p.setup.failure(abi.OpInit, nil, err)
	}
	if err = p.openMounts(ctx); err != nil {
		return fmt.Errorf("plugin %q: %w", p.setup.name, errkind.As(ErrConfig, err))
	}
	if slices.Contains(p.setup.granted.services, manifest.ServiceCountTokens) {
		// The first count loads a vocabulary, which takes longer than a call is allowed to.
		if _, err = h.tokens.Count(ctx, p.setup.name); err != nil {
			return fmt.Errorf("plugin %q: %w", p.setup.name, err)
		}
	}
	p.openClient()
	kind := h.engineKind(p.setup.cfg.Engine)
	if p.starting.module, err = h.module(ctx, p.setup.name, p.setup.spec, kind, p.setup.limits); err != nil {
		return fmt.Errorf("plugin %q: %w", p.setup.name, err)
	}
	p.starting.engine = p.starting.module.Engine
	if err = p.compileLinks(ctx, kind); err != nil {
		return fmt.Errorf("plugin %q: %w", p.setup.name, err)
	}
	p.prepareStart(ctx)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return fmt.Errorf("plugin %q: host: %w", p.setup.name, ErrClosed)
	}
	h.plugins[p] = true
	h.mu.Unlock()
	p.lending.share.Open(p.lending.pool)
	name, unkept := p.imageName(ctx)
	if p.restore(ctx, name) {
		return p.selfTest(ctx)
	}
	began := time.Now()
	if err := h.room.Wait(ctx, p.setup.limits.QueueTimeout, func() error { return p.lending.pool.First(ctx, p.starting.capture) }); err != nil {
		return p.setup.failure(abi.OpInit, nil, err)
	}
	if took := time.Since(began); took >= h.slowInit && unkept != nil {
		p.setup.log.Warn("the state after init is not kept on disk, so each process runs init again", "reason", unkept)
	} else {
		p.preserve(ctx, name, took)
	}
	return p.selfTest(ctx)
}

// openPool makes an empty pool and takes the plugin's place among the host's instances.
func (p *Plugin) openPool(ctx context.Context) error {
	p.lending.share = p.setup.host.room.NewShare(p.setup.limits.IdleTimeout)
	o := pool.Options[*guest.Instance]{Max: p.setup.limits.Instances, Min: p.setup.limits.MinInstances,
		Make: p.pooled, Close: (*guest.Instance).Close, Stamp: (*guest.Instance).LastUsed}
	if p.setup.state != StateKeep {
		o.Clean, o.Quick = (*guest.Instance).Reset, (*guest.Instance).QuickToReset
	}
	p.lending.pool = pool.New(o)
	return p.lending.reserve(ctx)
}

// Close closes the plugin and its sessions. It waits for running calls until ctx ends, and may
// be called again.
func (p *Plugin) Close(ctx context.Context) error {
	if err := errors.Join(p.lending.pool.Shutdown(ctx), p.lending.sessions.close(ctx)); err != nil {
		return fmt.Errorf("plugin %q: close: wait for running calls: %w", p.setup.name, err)
	}
	if err := pool.WaitFor(ctx, p.opened); err != nil {
		return fmt.Errorf("plugin %q: close: wait until it is loaded: %w", p.setup.name, err)
	}
	p.closing.Lock()
	defer p.closing.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	p.lending.timer.of.Store(nil)
	h := p.setup.host
	h.mu.Lock()
	delete(h.plugins, p)
	h.mu.Unlock()
	p.lending.mounts.Close()
	p.forget()
	p.lending.share.Close()
	if p.client != nil {
		p.client.Close()
	}
	var errs []error
	for _, l := range p.setup.links {
		if l.module != nil {
			errs = append(errs, h.compiler.Release(ctx, l.module))
		}
		if l.circle != nil {
			l.circle.Close(ctx)
		}
	}
	if p.starting.module != nil {
		errs = append(errs, h.compiler.Release(ctx, p.starting.module))
	}
	return errors.Join(errs...)
}

// Name returns the name of the configured plugin.
func (p *Plugin) Name() string { return p.setup.name }

// Spec returns what is known of the module without running it. It must not be changed.
func (p *Plugin) Spec() *spec.Spec { return p.setup.spec }

// Limits returns the limits in force for the plugin.
func (p *Plugin) Limits() Limits { return p.setup.limits }

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
func (p *Plugin) State() State { return p.setup.state }

// Notes returns what an operator should know about limits, grants and state: what the plugin
// asks for and does not get, what is granted although it does not ask for it, and why its
// instances cannot be reset.
func (p *Plugin) Notes() []string { return append([]string(nil), p.setup.notes...) }
