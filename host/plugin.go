package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/settings"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// Plugin is a configured plugin: a compiled module, its permissions and limits,
// and a pool of instances. It is safe for concurrent use; calls run at the same
// time up to Limits.Instances. Close waits for running calls.
//
// What happens to the state of an instance between calls is stated by
// PluginConfig.State. Which instance serves a call is not defined, nor how long one is
// kept: who depends on what a guest keeps takes a [Session].
//
// Of the instances that its host may have, one is the plugin's from Load to Close, so
// that it serves one call at a time whatever other plugins do. Further ones are closed
// when nobody used them for Limits.IdleTimeout, or when the host needs the room.
type Plugin struct {
	host    *Host
	spec    *Spec
	name    string
	cfg     PluginConfig
	limits  Limits
	granted granted
	notes   []string
	log     *slog.Logger

	engine *engine
	module *module
	pool   *pool[*instance]
	// links are the modules it imports from, each after those it imports from.
	links []*linked

	// values are what config_get returns, initRequest the document of init.
	values      map[string]string
	initRequest []byte
	// secret says that a setting is marked as one that is not to be shown.
	secret  bool
	schemas map[abi.Operation]*settings.Schema

	// state is StateReset, StateKeep or StateFresh; both it and image are
	// settled when the first instance is made.
	state string
	image *image
	// cold says that instances are not warmed up before the image is made: the
	// guest fails at it.
	cold bool
	// outside says that init drew on what is not known before it runs, or looked at the
	// time of day, so that its
	// image serves this process only. It is settled when the first instance is
	// made.
	outside bool

	// places are those of its instances, held is what they hold in bytes, and share the
	// most of that as soon as there is more than one.
	places places
	held   atomic.Int64
	share  int64
	// sessions are those that are not closed.
	sessions sessions
	// account is what its calls used of the processors lately, rests keeps it from being
	// called while it fails again and again.
	account *fairness.Account
	rests   *fairness.Rest

	// leftBehind is how many calls of the embedder's code went on after their time.
	leftBehind atomic.Int32
	// counts are what Stats tells, imageHeld what the image holds in bytes.
	counts    *counters
	imageHeld atomic.Int64

	// recycleAfter is how many calls an instance serves: recycleCalls, but in tests.
	recycleAfter int
	// tending says that the stacks of idle instances are about to be looked at, by a
	// timer that has timed.
	tending atomic.Bool
	timed   *tended

	mounts []mount
	client *httpClient
	// files are the descriptors that its guests have open.
	files *fileBudget

	// opened is closed when loading has ended, one way or the other.
	opened  chan struct{}
	closing sync.Mutex
	closed  bool
}

// Load makes a plugin of a spec: it checks the configuration, compiles the
// module (or finds it in the cache), starts one instance and runs its init.
// Errors wrap ErrConfig, ErrNotWasm, ErrTooLarge or ErrClosed; a guest that
// cannot start is a *PluginError with the reason init_failed, and a host without a place
// for another instance is one with the reason busy. For a place, and for memory, Load waits
// for at most Limits.QueueTimeout where others can give it back. When ctx ends Load returns,
// and a compilation that goes on is kept for the next Load of the module.
func (h *Host) Load(ctx context.Context, spec *Spec, cfg PluginConfig) (*Plugin, error) {
	p := &Plugin{host: h, spec: spec, cfg: cfg.clone(), name: cfg.Name, recycleAfter: recycleCalls, counts: new(counters),
		timed: new(tended), opened: make(chan struct{}), files: newFileBudget(processFiles())}
	p.timed.plugin.Store(p)
	if p.name == "" {
		p.name = spec.Name
	}
	p.log = h.cfg.Logger.With("plugin", p.name)
	if err := p.configure(); err != nil {
		return nil, fmt.Errorf("plugin %q: %w", p.name, err)
	}
	if err := p.open(WithTenant(ctx, store.DefaultTenant)); err != nil {
		// No call runs, so this does not take long; the error that led here says more.
		_ = p.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return p, nil
}

// configure checks everything that can be checked without running the guest.
func (p *Plugin) configure() error {
	if err := errors.Join(checkEngine(p.cfg.Engine), checkLane(p.cfg.Lane), checkState(p.cfg.State), p.cfg.Limits.check()); err != nil {
		return err
	}
	if err := p.checkLinks(); err != nil {
		return err
	}
	var cut, notes []string
	var err error
	if p.limits, cut, err = effectiveLimits(p.cfg.Limits, p.host.cfg.DefaultLimits, p.spec.Manifest); err != nil {
		return err
	}
	if need := int64(p.spec.MemoryPages) * wasmPage; need > p.limits.Memory {
		return fmt.Errorf("limits.memory %s: %w (the module starts with %s: raise it to that at least, pages of 64KiB count)", abi.FormatSize(p.limits.Memory), ErrConfig, abi.FormatSize(need))
	}
	if p.granted, notes, err = intersect(p.spec.Manifest, p.cfg.Grants); err != nil {
		return err
	}
	p.state = p.spec.State(p.cfg.State)
	p.notes = append(cut, notes...)
	for _, n := range p.notes {
		p.log.Warn(n)
	}
	if p.state == StateFresh && p.cfg.State != StateFresh {
		p.noteFresh(p.spec.Uncaptured)
	}
	return p.settle()
}

// settle checks the init settings and prepares what the guest sees of them.
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
	p.secret = schema.Secret(p.cfg.Settings)
	p.values = settings.Scalars(full)
	for k, v := range p.cfg.Config {
		p.values[k] = v
	}
	p.initRequest, err = json.Marshal(abi.InitRequest{Settings: canonical})
	return err
}

// checkSettings is the Check of a schema. Its errors name the settings and wrap ErrConfig.
func checkSettings(schema *settings.Schema, given map[string]any) (json.RawMessage, map[string]any, error) {
	canonical, full, err := schema.Check(given)
	if err != nil {
		return nil, nil, fmt.Errorf("settings: %w: %w", ErrConfig, err)
	}
	return canonical, full, nil
}

// open takes the resources of the plugin and starts its first instance. From the
// moment the host knows the plugin, Close may be called beside it.
func (p *Plugin) open(ctx context.Context) error {
	defer close(p.opened)
	h := p.host
	p.account = h.turns.NewAccount()
	p.rests = fairness.NewRest(fairness.Rules{After: p.limits.RestAfter, First: firstRest, Most: p.limits.RestMost}, clock)
	err := p.openPool(ctx)
	if err != nil {
		return p.failure(abi.OpInit, nil, err)
	}
	if err = p.openMounts(ctx); err != nil {
		return fmt.Errorf("plugin %q: %w", p.name, as(ErrConfig, err))
	}
	if slices.Contains(p.granted.services, ServiceCountTokens) {
		// The first count loads a vocabulary, which takes longer than a call may.
		if _, err = h.countTokens(ctx, p.name); err != nil {
			return fmt.Errorf("plugin %q: %w", p.name, err)
		}
	}
	p.client = newHTTPClient(p.granted.http, p.limits.HTTPBody, p.files, h.cfg.HTTPTransport)
	kind := h.engineKind(p.cfg.Engine)
	if p.module, err = h.module(ctx, p.name, p.spec, kind, p.limits); err != nil {
		return fmt.Errorf("plugin %q: %w", p.name, err)
	}
	p.engine = p.module.engine
	if err = p.compileLinks(ctx, kind); err != nil {
		return fmt.Errorf("plugin %q: %w", p.name, err)
	}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return fmt.Errorf("plugin %q: host: %w", p.name, ErrClosed)
	}
	h.plugins[p] = true
	h.mu.Unlock()
	h.reclaimer.add(p)
	name := p.imageName()
	if p.restore(ctx, name) {
		return p.selfTest(ctx)
	}
	began := time.Now()
	if err := h.reclaimer.inRoom(ctx, p.limits.QueueTimeout, func() error { return p.pool.first(ctx, p.capture) }); err != nil {
		return p.failure(abi.OpInit, nil, err)
	}
	p.preserve(name, time.Since(began))
	return p.selfTest(ctx)
}

// openPool makes the pool, which is empty, and takes a place for its first instance.
func (p *Plugin) openPool(ctx context.Context) error {
	p.share = p.host.shareOfOne()
	p.pool = newPool(p.limits.Instances, p.pooled, (*instance).close)
	p.pool.min, p.pool.stamp = p.limits.MinInstances, (*instance).lastUsed
	if p.state != StateKeep {
		p.pool.clean, p.pool.quick = (*instance).reset, (*instance).quickToReset
	}
	return p.reserve(ctx)
}

// Close closes the plugin and its sessions, waiting for running calls until ctx ends. It
// may be called again.
func (p *Plugin) Close(ctx context.Context) error {
	if err := errors.Join(p.pool.shutdown(ctx), p.sessions.close(ctx)); err != nil {
		return fmt.Errorf("plugin %q: close: wait for running calls: %w", p.name, err)
	}
	if err := waitFor(ctx, p.opened); err != nil {
		return fmt.Errorf("plugin %q: close: wait until it is loaded: %w", p.name, err)
	}
	p.closing.Lock()
	defer p.closing.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	p.timed.plugin.Store(nil)
	h := p.host
	h.mu.Lock()
	delete(h.plugins, p)
	h.mu.Unlock()
	h.reclaimer.remove(p)
	p.unreserve()
	p.closeMounts()
	p.forget()
	if p.client != nil {
		p.client.close()
	}
	var errs []error
	for _, l := range p.links {
		if l.module != nil {
			errs = append(errs, h.release(ctx, l.module))
		}
		if l.circle != nil {
			l.circle.close(ctx)
		}
	}
	if p.module != nil {
		errs = append(errs, h.release(ctx, p.module))
	}
	return errors.Join(errs...)
}

// Name returns the name of the configured plugin.
func (p *Plugin) Name() string { return p.name }

// Spec returns what is known of the module. It must not be changed.
func (p *Plugin) Spec() *Spec { return p.spec }

// Limits returns the limits that hold for the plugin.
func (p *Plugin) Limits() Limits { return p.limits }

// State returns what happens to an instance between calls: StateReset, StateKeep
// or StateFresh.
func (p *Plugin) State() string { return p.state }

// Notes returns what an operator should know about limits and grants: what is
// asked for and not given, and what is given and not asked for.
func (p *Plugin) Notes() []string { return append([]string(nil), p.notes...) }

// initFuel is the fuel of init: as much per time as a call has.
func (p *Plugin) initFuel() int64 {
	return max(p.limits.Fuel, saturate(p.limits.Fuel, float64(p.limits.InitTimeout)/float64(p.limits.Timeout)))
}
