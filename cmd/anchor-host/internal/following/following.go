// Package following makes serve follow the configuration and the keys that the store has for all hosts.
package following

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/cluster"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/atomicfile"
	"github.com/anchor-host/anchor-host/internal/cachedir"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/keys"
	"github.com/anchor-host/anchor-host/store"
)

// Host is a service that follows. A nil Host follows nothing, and its methods do nothing.
type Host struct {
	own    *config.Loaded // the configuration of its file
	dir    string
	log    *slog.Logger
	lock   *flock.Flock
	store  *shared
	follow *cluster.Follower
	keyed  bool // whether it has a file of keys

	app    *anchor.App
	keys   *keys.Store
	stable cluster.Version
	loaded map[cluster.Version]*config.Loaded // what the App serves
	end    context.CancelFunc
	ended  sync.WaitGroup

	closing sync.Once
}

// poll is how often a host looks at the store. Tests look more often.
var poll = cluster.DefaultPoll

// keysFile is the name of the file of the keys in the folder of a host.
const keysFile = "keys.yaml"

// Begin returns the configuration with which a service begins, and its host. Without server.follow the
// configuration is as it was, and there is no host.
func Begin(ctx context.Context, own *config.Loaded, log *slog.Logger) (*Host, *config.Loaded, error) {
	if !own.Server.Follow {
		return nil, own, nil
	}
	h := &Host{own: own, log: log, store: &shared{loaded: own}, loaded: map[cluster.Version]*config.Loaded{}}
	first, err := h.begin(ctx)
	if err != nil {
		h.Close(ctx)
		return nil, nil, fmt.Errorf("follow: %w", err)
	}
	return h, first, nil
}

func (h *Host) begin(ctx context.Context) (*config.Loaded, error) {
	id, err := h.settle()
	if err != nil {
		return nil, err
	}
	h.follow = cluster.NewFollower(cluster.FollowerOptions{ID: id, Dir: h.dir, Store: h.store, Build: cli.ReadBuildInfo().Version, Logger: h.log, Poll: poll, Shadows: func() []shadows.Comparison { return h.app.Shadows() }})
	stable, secrets, err := h.follow.Begin(ctx)
	if err != nil {
		return nil, err
	}
	if own := h.own.Server.Keys; secrets == nil && own != "" {
		if secrets, err = os.ReadFile(h.own.Path(own)); err != nil {
			return nil, fmt.Errorf("keys: read: %w", err)
		}
	}
	if h.keyed = secrets != nil; h.keyed {
		if err := h.writeKeys(secrets); err != nil {
			return nil, err
		}
	}
	if stable == nil {
		h.log.Info("follow: there was no rollout yet; the host serves its own file", "host", id)
		return h.ownFile()
	}
	h.log.Info("follow: the host serves what the store says", "host", id, "version", stable.Version.Short())
	first, err := h.prepare(ctx, stable)
	h.stable, h.loaded[stable.Version] = stable.Version, first
	return first, err
}

// ownFile is the configuration of the file, with the keys of the cluster.
func (h *Host) ownFile() (*config.Loaded, error) {
	for _, o := range config.Overrides {
		if h.keyed && o.Path == "server.keys" {
			return h.own, h.own.Override(o, h.path(keysFile), "rollout")
		}
	}
	return h.own, nil
}

// settle finds the folder of the host, which no other process has, and its name.
func (h *Host) settle() (id string, err error) {
	if h.dir = h.own.Path(h.own.Server.FollowDir); h.dir == "" {
		cache, err := cachedir.Folder(cachedir.Followed)
		if err != nil {
			return "", err
		}
		of := cluster.DigestOf([]byte(h.own.Location() + "\n" + h.own.Server.WithDefaults().Listen))
		h.dir = filepath.Join(cache, of[len("sha256:"):][:16])
	}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return "", err
	}
	h.lock = flock.New(h.path("lock"), flock.SetPermissions(0o600))
	if ok, err := h.lock.TryLock(); err != nil || !ok {
		h.lock = nil
		return "", errors.Join(fmt.Errorf("another process uses %s (give each host its own with server.follow_dir)", h.dir), err)
	}
	data, err := os.ReadFile(h.path("id"))
	if errors.Is(err, fs.ErrNotExist) {
		name, _ := os.Hostname() // without a name the digits identify it
		var digits [4]byte
		_, _ = rand.Read(digits[:]) // it never fails
		data = []byte(name[:min(len(name), 64)] + "-" + hex.EncodeToString(digits[:]))
		err = atomicfile.Write(h.path("id"), 0o600, data)
	}
	if err == nil {
		err = config.CheckName(string(data))
	}
	return string(data), err
}

func (h *Host) path(name string) string { return filepath.Join(h.dir, name) }

func (h *Host) writeKeys(data []byte) error {
	if _, err := keys.Parse(h.path(keysFile), data); err != nil {
		return err
	}
	return atomicfile.Write(h.path(keysFile), 0o600, data)
}

// Keys implements [cluster.Host].
func (h *Host) Keys(data []byte) error {
	if !h.keyed {
		return errors.New("the service began without keys (restart it)")
	}
	if err := h.writeKeys(data); err != nil {
		return err
	}
	return h.keys.Reload()
}

// Follow implements [cluster.Host].
func (h *Host) Follow(ctx context.Context, stable, candidate *cluster.Documents) error {
	next := map[cluster.Version]*config.Loaded{}
	get := func(d *cluster.Documents) (anchor.Configuration, error) {
		if d == nil {
			return nil, nil
		}
		l := h.loaded[d.Version]
		if l == nil {
			var err error
			if l, err = h.prepare(ctx, d); err != nil {
				return nil, err
			}
		}
		next[d.Version] = l
		return l, nil
	}
	s, err := get(stable)
	if err != nil {
		return err
	}
	c, wrong := get(candidate) // a candidate that is wrong ends the one before
	if err := h.app.Follow(ctx, s, c); err != nil {
		return err
	}
	if wrong != nil {
		return wrong
	}
	if stable != nil {
		h.stable = stable.Version
	} else if l := h.loaded[h.stable]; l != nil { // the stable version stays
		next[h.stable] = l
	}
	h.loaded = next
	h.sweep()
	return nil
}

// Options adds to the options of a server what requests need to know of the rollout.
func (h *Host) Options(o *server.Options) {
	if h == nil {
		return
	}
	o.Candidate = func(tenant string, conversation func() string) bool {
		return h.follow.HasCandidate() && h.follow.Choose(tenant, conversation())
	}
	o.Rollout = func(ctx context.Context) (*cluster.Status, error) { return cluster.ReadStatus(ctx, h.store, 0) }
	o.Observers = append(o.Observers, h.observer())
}

// Run follows in the background until [Host.Close]. keys is nil if there are none.
func (h *Host) Run(app *anchor.App, keys *keys.Store) {
	if h == nil {
		return
	}
	h.app, h.keys = app, keys
	ctx, end := context.WithCancel(context.Background())
	h.end = end
	h.ended.Go(func() { h.follow.Run(ctx, h) })
}

// leaveTime bounds how long the end of a host waits for the store.
const leaveTime = 2 * time.Second

// Close ends following. The host is no longer listed. Closing again does nothing.
func (h *Host) Close(ctx context.Context) {
	if h != nil {
		h.closing.Do(func() { h.close(ctx) })
	}
}

func (h *Host) close(ctx context.Context) {
	if h.end != nil {
		h.end()
		h.ended.Wait()
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		defer cancel()
		if err := h.follow.Leave(short); err != nil {
			h.log.Warn("follow: the host is still listed for a while", "error", err)
		}
	}
	if err := h.store.Close(); err != nil {
		h.log.Warn("follow: close store", "error", err)
	}
	if h.lock != nil {
		_ = h.lock.Close() // the process ends
	}
}

// Store returns the store in which the hosts of a configuration meet. It is opened when it is first used.
func Store(loaded *config.Loaded) store.Store { return &shared{loaded: loaded} }
