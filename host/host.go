package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/egress"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/imagestore"
	"github.com/anchor-host/anchor-host/host/internal/imports"
	"github.com/anchor-host/anchor-host/host/internal/kv"
	"github.com/anchor-host/anchor-host/host/internal/mounts"
	"github.com/anchor-host/anchor-host/host/internal/pool"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/host/spec"
	_ "github.com/anchor-host/anchor-host/internal/only64" // a build for 32 bits fails with one line
	"github.com/anchor-host/anchor-host/internal/seldom"
	"github.com/anchor-host/anchor-host/internal/settings"
)

// randomSource provides the random numbers of guests.
var randomSource = rand.Reader

// Host compiles and runs plugins. It is safe for concurrent use. Closing it closes every
// plugin.
type Host struct {
	cfg Config
	// room has the places and the memory of instances.
	room   *capacity.Room
	tokens *imports.Tokenizer
	// turns shares the processors between plugins.
	turns   *fairness.Queue
	counts  counters
	kv      *kv.Stores
	folders mounts.Folders

	// root is the cache folder, nil if nothing is kept between processes, and noRoot why the
	// configured one is not used. kept is what was found out about modules, nil like root.
	root   *cacheRoot
	noRoot error
	kept   *codestore.Notes
	// images are kept on disk, nil if they are not. slowInit is how long an init must take
	// for its image to be kept there.
	images   *imagestore.Store
	slowInit time.Duration

	// compiler has the engines and the compiled modules.
	compiler *compile.Compiler

	mu      sync.Mutex
	closed  bool
	plugins map[*Plugin]bool
}

// Plugin is a configured plugin: a compiled module, its permissions and limits, and a pool of
// instances. It is safe for concurrent use: up to Limits.Instances calls run at the same time.
// Close waits for running calls.
//
// PluginConfig.State states what happens to the state of an instance between calls. It is not
// defined which instance serves a call, or how long one is kept. A caller that depends on what
// a guest keeps uses a [Session].
//
// From Load to Close the plugin always has one of Config.MaxInstances, so it can serve one
// call at a time whatever other plugins do. Its further instances are closed when they were
// idle for Limits.IdleTimeout, or when the host needs their memory or their place.
type Plugin struct {
	setup    *setup
	lending  lending
	starting starting
	counting counting

	// guard runs the embedder's code for the plugin's guests.
	guard *guard.Guard
	// client sends the guests' requests, nil if none is permitted.
	client *egress.Client
	// files bounds the file descriptors that the plugin's guests have open.
	files *mounts.Budget

	// opened is closed when Load has ended, with or without an error.
	opened  chan struct{}
	closing sync.Mutex
	closed  bool
}

// setup is what the configuration and the manifest decide when a plugin is loaded. It does not change
// once the first instance is made.
type setup struct {
	host    *Host
	spec    *spec.Spec
	name    string
	cfg     PluginConfig
	limits  Limits
	granted granted
	notes   []string
	secrets *guesttext.Secrets // hides what no log line and no error may show
	log     *slog.Logger
	// links are the modules that the plugin imports from. Each comes after those it imports from.
	links []*linked

	// values are what config_get returns. initRequest is the document that init receives.
	values      map[string]string
	initRequest []byte
	// secret says that the schema marks one of the given settings as a secret.
	secret     bool
	initSchema *settings.Schema
	schemas    map[abi.Operation]*settings.Schema
	// state is StateReset, StateKeep or StateFresh.
	state State
}

// lending is who may have an instance of a plugin, and when.
type lending struct {
	setup *setup
	pool  *pool.Pool[*guest.Instance]
	// share is what the plugin has of the host's room.
	share *capacity.Share
	// sessions are the open sessions.
	sessions sessions
	// lost says when it was last logged that an instance under StateKeep ended, by whether its
	// last call was good.
	lost seldom.Kinds[bool]
	// account is the processor time that the plugin used lately. breakers refuses calls while the
	// plugin fails again and again.
	account  *fairness.Account
	breakers *fairness.Breakers
	// checking says that a timer will check the stacks of idle instances. timer is what the
	// timer knows of the plugin.
	checking atomic.Bool
	timer    *stackTimer
	// mounts are the folders that the guests see.
	mounts mounts.Set
}

// starting is what the instances of a plugin start from.
type starting struct {
	setup  *setup
	engine *compile.Engine
	module *compile.Module
	// env is what the plugin's instances have in common, with the image that they start from.
	env guest.Environment
	// outside says that init used the network or the key-value store, or read a clock that may
	// show another time in the next process, so that its image serves this process only. It is
	// set when the first instance is made.
	outside bool
	// imageHeld is the size of the image in bytes.
	imageHeld atomic.Int64
}

// counting has the figures of a plugin, and of the host, for Stats.
type counting struct{ counts, whole *counters }

// Close closes every plugin, waiting for running calls until ctx ends, and then the host.
// If ctx ends first, it returns an error, and Close may be called again.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	plugins := make([]*Plugin, 0, len(h.plugins))
	for p := range h.plugins {
		plugins = append(plugins, p)
	}
	h.mu.Unlock()
	h.compiler.Stop()
	h.room.Stop()
	var errs []error
	for _, p := range plugins {
		errs = append(errs, p.Close(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return err // a guest still runs: its engine must stay
	}
	if err := h.compiler.Close(ctx); err != nil {
		return fmt.Errorf("host: close: %w", err)
	}
	return nil
}

// engineKind is the engine of a plugin whose configuration states one, or EngineAuto.
func (h *Host) engineKind(stated Engine) Engine {
	kind := stated
	if kind == EngineAuto {
		kind = h.cfg.Engine
	}
	if kind == EngineAuto {
		return EngineCompiler
	}
	return kind
}

// cacheRoot is the folder of what is kept between processes. The host trusts its content: it
// executes the machine code, and a note on a module decides which checks of the module are
// skipped.
type cacheRoot struct {
	*codestore.Store
	// facts keeps what was found out about modules, nil if that is not kept.
	facts *codestore.Notes
	// noCode is why machine code cannot be kept, nil if it can, or if there is nothing to mend.
	noCode error
}

// linked is a link that is checked and compiled.
type linked struct {
	Link
	module *compile.Module
	// inCircle says that modules made before the link import from it. circle is the stub that
	// stands for it there.
	inCircle bool
	circle   *compile.Circle
	// lends says that another module imports its memory.
	lends bool
}

// granted is what a plugin may do: what its manifest asks for and the operator grants.
type granted struct {
	http     *egress.Rule
	files    []FileGrant
	kvQuota  int64 // 0: no store
	services []string
	ask      service.Grants
	// functions are the names of the embedder's functions. No permission of the manifest asks
	// for them, because the import itself does.
	functions []string
}

// Session is an instance of a plugin that serves one owner. What a call leaves in the guest,
// including variables of Extism, is there in the next call, whatever PluginConfig.State says.
// See [Plugin.NewSession].
//
// A session serves one call at a time and refuses another one meanwhile. When the host or a
// trap stops a call before the guest returns, such as at its deadline, the session ends,
// because the guest's state is unknown. An error that the guest itself reports does not end
// it.
type Session struct {
	plugin *Plugin
	tenant string
	// turn holds one token: whoever sent it may use the fields below.
	turn chan struct{}
	in   *guest.Instance
	// over says why the session has ended, nil while it has an instance.
	over error
}

// sessions are the open sessions of a plugin.
type sessions struct {
	mu     sync.Mutex
	open   map[*Session]struct{}
	closed bool
}

// maxReasons is room for each of abi.Reasons.
const maxReasons = 16

// counters are the Counters of a plugin or of a host.
type counters struct {
	ok, fuel, took, in, out    atomic.Int64
	resets, recycled, replaced atomic.Int64
	made, closed               atomic.Int64
	failed                     [maxReasons]atomic.Int64
}

// stackTimer is what a timer knows of a plugin: a pointer to it until it is closed. The runtime
// keeps even a stopped timer until its time, and a closed plugin must not be reachable from
// it.
type stackTimer struct{ of atomic.Pointer[lending] }
