package anchor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/tape"
	"github.com/anchor-host/anchor-host/store"
)

// Options are settings that a configuration file does not have, and settings that override it.
type Options struct {
	// PluginDir is the plugin folder. Empty: plugins.dir of the file.
	PluginDir string
	// CacheDir is the folder of compiled plugins; "off" keeps no compiled plugins. Empty:
	// cache_dir of the file.
	CacheDir string
	// Overrides maps key paths to values that replace those of the file, such as
	// "agent.compaction.enabled": "false". Values are written as on a command line. A key can be
	// overridden if it holds a single value and is not in a list or in a map with names of your
	// choice.
	Overrides map[string]string
	// Logger receives log lines, those of plugins included. nil discards them.
	Logger *slog.Logger
	// OnCompile is called before a module is compiled, with done false, and again after it, with
	// done true and the time that compiling took. It may be called from several goroutines at the
	// same time. It may be nil.
	OnCompile func(plugin string, done bool, took time.Duration)
	// OnRecord receives each call of a plugin, without secrets. While calls are recorded, clocks and
	// random numbers of plugins are fixed; see [host.Config]. nil: nothing is recorded.
	OnRecord func(record.Call)
	// OnFailure receives each call of a plugin that failed, without secrets. It may be nil.
	OnFailure func(record.Failure)
	// Tape records builds, or repeats a recorded one: make it with [NewTape] or with
	// [Recording.Tape]. An App with a tape is for one build. nil: neither.
	Tape *Tape
	// Store keeps conversations, facts and agent runs. [App.Close] does not close it. nil: the
	// App opens the store file of the configuration at first use.
	Store store.Store
	// Access says what the App may do with the store file of the configuration. It has no effect
	// on Store.
	Access Access
	// OnDamaged is called for each damaged fact, which is then left out. It may be called from
	// several goroutines, and more than once for a fact. nil: a line is logged.
	OnDamaged func(tenant, fact string, err error)
	// Mounts are folders that instances read. They replace folders that the configuration mounts
	// at the same guest paths.
	Mounts []Mount
	// Components are parts in Go, which the configuration names as it names plugins.
	Components Components
	// KV is the key-value store of the plugins. nil: values are kept where store.kv says, which is
	// the store that the App opens, or memory that each load begins anew with.
	KV host.KVStore
	// Lazy delays loading the plugins of a pipeline until its first build. Otherwise [Load] and
	// [App.Reload] load all plugins.
	Lazy bool
	// StrictReload refuses a reload of a configuration that names a variable, a secret or a file of an embedder
	// that is missing, or a model without a price though there are prices. Otherwise these fail what uses them.
	StrictReload bool
}

// Access says what an App may do with the store that it opens.
type Access uint8

const (
	// ReadWrite reads and writes. It is the default.
	ReadWrite Access = iota
	// ReadAnyway reads and writes if that is possible. If the user may not write, or the disk is
	// full, it only reads.
	ReadAnyway
	// ReadExisting is like ReadAnyway, but makes no file: a store that is not there is empty, and has no
	// collections.
	ReadExisting
	// DeleteOnly is for deleting on a full disk: the store releases the space that it reserves
	// for this. The error is store.ErrFull if it has no such space.
	DeleteOnly
)

// open opens the store in a file.
func (x Access) open(ctx context.Context, path, synchronous string) (store.Store, error) {
	open := agentstore.Open
	switch x {
	case ReadAnyway:
		open = agentstore.OpenToRead
	case ReadExisting:
		open = agentstore.OpenExisting
	case DeleteOnly:
		open = agentstore.OpenToDelete
	}
	s, err := open(ctx, path, synchronous)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return nil, fmt.Errorf("open store: no space is reserved for deleting: %w", store.ErrFull)
	}
	return s, nil
}

// Mount is a folder that the plugin of an instance reads.
type Mount struct {
	// Instance is the name of an entry of instances.
	Instance string
	// Folder is the path of the folder, relative to the current folder. The plugin can only read
	// it.
	Folder string
	// Guest is the path at which the plugin finds it, such as "/docs". It replaces a mount of the
	// configuration at this path.
	Guest string
}

// check refuses a mount without a folder, which would grant the current one, and a path that
// no plugin can have.
func (m *Mount) check() error {
	switch {
	case m.Folder == "":
		return errors.New("the folder is empty (name the one to mount)")
	case !path.IsAbs(m.Guest):
		return fmt.Errorf("guest: %q is no absolute path (want one such as /docs)", m.Guest)
	}
	return nil
}

// Tape hears a build, or tells a recorded one what it was told.
type Tape struct {
	t     *tape.Tape
	marks tape.Marks
	from  *tape.Recording // what it tells. nil: it hears

	mu      sync.Mutex
	began   time.Time       // the first reading of the clock
	since   time.Time       // the clock of the machine at that reading
	clock   []time.Duration // the readings, from began on
	reading int             // how many of the recorded ones were repeated
}
