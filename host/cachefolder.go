package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/codecache"
	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/decoded"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/imagestore"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// CacheDir returns the folder in which the host keeps machine code and images, "" if it keeps
// none: with CacheOff, or if there is no folder for it. The error says why the folder of
// Config.CacheDir is not used: somebody else can write to it or to one above it, or it cannot
// be made or written.
//
// On Unix, macOS included, the folder must belong to the user of the process, and those above
// it to that user or to root. Others must not be able to write to any of them, except to a
// folder above that has the sticky bit, such as /tmp. Symbolic links are followed, and their
// targets are checked too. On other systems, such as Windows, none of this is checked.
func (h *Host) CacheDir() (dir string, err error) {
	if h.root == nil {
		return "", h.noRoot
	}
	return h.root.Dir, nil
}

// openRoot opens the folder that dir stands for; see Config.CacheDir. It returns nil without
// an error if there is to be no cache, and with an error if the folder cannot be trusted or
// used.
func openRoot(dir string, log *slog.Logger) (*cacheRoot, error) {
	store, err := codestore.OpenNamed(dir, log)
	if err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	if store == nil {
		return nil, nil
	}
	root := &cacheRoot{Store: store}
	if root.facts, err = decoded.OpenNotes(store); err != nil {
		log.Warn("nothing is kept about modules", "reason", err)
	}
	return root, nil
}

// openCode opens the cache of machine code for modules that use these features of WebAssembly.
// It returns nil if there is none; modules are then compiled on every start.
func (r *cacheRoot) openCode(ctx context.Context, features api.CoreFeatures) compile.CodeCache {
	r.Sweep()
	build, err := wazerox.Build()
	var cache *codecache.Cache
	if err == nil {
		cache, err = codecache.Open(ctx, codecache.Options{
			Store: r.Store, Notes: r.facts, Build: build, Features: features, Meter: meterOptions(), Compile: compile.Wasm,
			Refuted: func() {
				wazerox.Failed(wazerox.Shells, "probe failed: wazero does not load the machine code under the name of a shell")
				logFeature(r.Log, wazerox.Look(false)[wazerox.Shells])
			},
		})
	}
	if err == nil {
		return cache
	}
	level := slog.LevelWarn
	if errors.Is(err, wazerox.ErrUnknown) || errors.Is(err, codecache.ErrNoCode) { // there is nothing to mend
		level = slog.LevelInfo
	} else {
		r.noCode = err
	}
	r.Log.Log(ctx, level, "machine code is not kept", "reason", err)
	return nil
}

// kindShell is the kind of note that holds the shell of a module, by the key of its machine
// code.
const kindShell = "shell"

// shells keeps the shells of modules.
type shells struct{ *codestore.Notes }

// Get implements compile.Shells.
func (s shells) Get(key compile.Key, shell *wasmbin.Prepared) bool {
	return s.Notes.Get(kindShell, key[:], shell)
}

// Put implements compile.Shells.
func (s shells) Put(key compile.Key, shell *wasmbin.Prepared) { s.Notes.Put(kindShell, key[:], shell) }

// Images that took long to make are kept on disk, so that other processes need not run init
// again. The name of an image depends on everything that init can depend on: the rewritten
// module, settings, grants, limits, the log level, the boot of the system, with which the
// guest's stopwatch starts, and the names, sizes and times of the files that init may read.
// A new grant joins it, and a new limit if init can tell its value.
//
// An image is not kept if init depended on anything else: answers from the network, the
// key-value store, functions of the embedder, the time of day, or files that changed
// meanwhile. Nor is it kept if the plugin has config values, or settings that its schema marks
// as secrets.

const (
	// imageFormat is part of the names. It must change when the content of images changes, or
	// what host functions answer during init.
	imageFormat = 2
	// slowInit is the shortest init whose image is kept. Reading and checking an image of a
	// few MiB takes a good part of that time.
	slowInit = 20 * time.Millisecond
)

// imageName is the name of the plugin's image, "" if the image is not kept on disk. It depends
// on the mounted files. The error says which of them keeps the image off the disk.
func (p *Plugin) imageName(ctx context.Context) (string, error) {
	if p.setup.host.images == nil || p.setup.spec.Foreign || p.setup.state == StateFresh || p.setup.spec.Uncaptured != "" || p.setup.cfg.Deterministic ||
		len(p.setup.cfg.Config) > 0 || p.setup.secret || len(p.setup.links) > 0 || len(p.setup.cfg.Grants.Functions) > 0 {
		return "", nil
	}
	roots, ok := p.lending.mounts.Roots()
	if !ok { // changes in a file system of the embedder cannot be detected
		return "", nil
	}
	mounts := make([]imagestore.Mount, len(roots))
	for i, r := range roots {
		mounts[i] = imagestore.Mount(r)
	}
	files, err := imagestore.Fingerprint(ctx, mounts)
	if err != nil {
		if errors.Is(err, imagestore.ErrUnsettled) || ctx.Err() != nil {
			err = nil
		}
		return "", err
	}
	tokenizer := ""
	if len(p.setup.granted.services) > 0 {
		if t, err := p.setup.host.Tokenizer(); err == nil {
			tokenizer = t.Name()
		}
	}
	name, err := imagestore.Name(
		imageFormat, p.starting.module.Source, p.starting.module.Key, string(p.setup.initRequest), p.setup.state == StateReset,
		p.setup.limits.Memory, p.setup.limits.Fuel, p.setup.limits.InitTimeout, p.setup.granted.files, p.setup.granted.http != nil, p.setup.granted.kvQuota,
		p.setup.granted.services, tokenizer, guest.LowestLevel(context.Background(), p.setup.log), files, imagestore.Boot(),
	)
	if err != nil {
		return "", nil // what has no name is not kept
	}
	return name, nil
}

// restore starts the plugin from the image of that name, and reports whether it did. A damaged
// image is removed.
func (p *Plugin) restore(ctx context.Context, name string) bool {
	if name == "" {
		return false
	}
	kept := p.setup.host.images.Load(name, p.starting.engine.Features.On(wazerox.Memories), p.starting.fits)
	if kept == nil {
		return false
	}
	if !p.setup.host.room.Take(kept.Memory.Held()) {
		kept.Memory.Free()
		return false
	}
	p.starting.env.Image = guest.ImageOf(kept)
	p.starting.imageHeld.Store(p.starting.env.Image.Held())
	if err := p.lending.pool.First(ctx, p.starting.accept); err != nil {
		p.setup.log.Debug("image of an earlier process does not serve", "error", err)
		p.forget()
		return false
	}
	p.setup.host.images.Used(name)
	p.setup.log.Debug("image of an earlier process taken", "name", name)
	return true
}

// fits reports whether an image can belong to this plugin.
func (st *starting) fits(im *imagestore.Image) bool {
	open := st.module.Open
	return len(im.Globals) == len(open.Globals) && len(im.Vectors) == len(open.Vectors) &&
		int64(im.Memory.Size()) <= st.setup.limits.Memory && im.HasBox == st.setup.spec.Module().Exports(abi.MailboxExport)
}

// accept checks the first instance made from an image on disk.
func (st *starting) accept(in *guest.Instance) error {
	if why := st.uncaptured(in); why != "" {
		return errors.New(why)
	}
	return in.CheckMailbox()
}

// forget frees the image.
func (p *Plugin) forget() {
	if p.starting.env.Image == nil {
		return
	}
	p.setup.host.room.Give(p.starting.env.Image.Held())
	p.starting.env.Image.Free()
	p.starting.env.Image = nil
	p.starting.imageHeld.Store(0)
}

// preserve writes the image to disk under the name that it had before init, if init took long
// and nothing that it may have read has changed since.
func (p *Plugin) preserve(ctx context.Context, name string, took time.Duration) {
	if name == "" || p.starting.env.Image == nil || p.starting.outside || took < p.setup.host.slowInit {
		return
	}
	kept := p.starting.env.Image.Kept()
	if kept == nil {
		return
	}
	if again, err := p.imageName(ctx); err != nil || again != name {
		return
	}
	if err := p.setup.host.images.Save(name, kept); err != nil {
		p.setup.log.Debug("image not kept", "error", err)
	}
}

// openImages opens the images in the cache folder. It returns nil if images are not kept. size
// is the most that they may take together, in bytes.
func openImages(root *cacheRoot, size int64) *imagestore.Store {
	if size <= 0 {
		return nil
	}
	images, err := imagestore.Open(root.Store, size)
	if err != nil {
		root.Log.Warn("images are not kept", "reason", err)
		return nil
	}
	return images
}

// meterOptions says how guests are rewritten.
func meterOptions() wasmbin.MeterOptions {
	return wasmbin.MeterOptions{MaxTable: wasmbin.MaxTable, Light: guest.LightImport, Inert: guest.InertImport}
}
