package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// Images that took long to make are kept on disk, so that other processes need not run init
// again. The name of an image is the hash of everything that init can depend on: the rewritten
// module, settings, grants, limits, the log level, the boot of the system, with which the
// guest's stopwatch starts, and the names, sizes and times of the files that init may read.
//
// An image is not kept if init depended on anything else: answers from the network, the
// key-value store, functions of the embedder, the time of day, or files that changed
// meanwhile. Nor is it kept if the plugin has config values, or settings that its schema marks
// as secrets.

const (
	// imageFolder is the folder of images in the cache directory.
	imageFolder = "images"
	// imageFormat is part of the names. It must change when the content of images changes, or
	// what host functions answer during init.
	imageFormat = 2
	// slowInit is the shortest init whose image is kept. Reading and checking an image of a
	// few MiB takes a good part of that time.
	slowInit = 20 * time.Millisecond
	// maxFingerprint is the most files, of all mounts together, that are checked for changes.
	maxFingerprint = 50_000
	// settling is the age after which a change to a file certainly shows in its time.
	settling = 100 * time.Millisecond
)

// imageName is the path of the plugin's image, "" if the image is not kept on disk. It depends
// on the mounted files.
func (p *Plugin) imageName() string {
	dir := p.host.imageDir
	if dir == "" || p.spec.Foreign || p.state == StateFresh || p.spec.Uncaptured != "" || p.cfg.Deterministic ||
		len(p.cfg.Config) > 0 || p.secret || len(p.links) > 0 || len(p.cfg.Grants.Functions) > 0 {
		return ""
	}
	files, ok := fingerprint(p.mounts)
	if !ok {
		return ""
	}
	tokenizer := ""
	if len(p.granted.services) > 0 {
		if t, err := p.host.Tokenizer(); err == nil {
			tokenizer = t.Name()
		}
	}
	key, err := json.Marshal([]any{
		imageFormat, p.module.key.digest, p.module.digest, string(p.initRequest), p.state == StateReset,
		p.limits.Memory, p.limits.Fuel, p.limits.InitTimeout, p.granted.files, p.granted.http != nil, p.granted.kvQuota,
		p.granted.services, tokenizer, lowestLevel(context.Background(), p.log), files, bootID(),
	})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(key)
	return filepath.Join(dir, hex.EncodeToString(sum[:]))
}

// fingerprint is a hash of the names, sizes, times and stamps of all mounted files. ok is
// false if there are too many files, if one changed just now, or if the embedder provides a
// file system.
func fingerprint(mounts []mount) (sum string, ok bool) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	seen := 0
	var newest time.Time
	for _, m := range mounts {
		if m.given != nil { // its changes cannot be detected
			return "", false
		}
		_ = enc.Encode([]any{m.guest, m.writable})
		err := fs.WalkDir(m.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
			if seen++; err != nil || seen > maxFingerprint {
				return errors.Join(err, fs.ErrInvalid)
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if t := info.ModTime(); t.After(newest) {
				newest = t
			}
			s := codestore.StampOf(info)
			return enc.Encode([]any{path, info.Size(), info.ModTime().UnixNano(), info.Mode(), s.Inode, s.Changed})
		})
		if err != nil {
			return "", false
		}
	}
	return hex.EncodeToString(h.Sum(nil)), time.Since(newest) > settling
}

// restore starts the plugin from the image of that name, and reports whether it did. A damaged
// image is removed.
func (p *Plugin) restore(ctx context.Context, name string) bool {
	if name == "" {
		return false
	}
	im, err := readImage(name, p.host.root.Store, p.rebuild)
	if err == nil && !p.fits(im) {
		im.memory.Free()
		err = errImageFile
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			p.host.root.Refuse(name, err)
		}
		return false
	}
	if !p.host.takeMemory(im.memory.Held()) {
		im.memory.Free()
		return false
	}
	p.env.image = im
	p.imageHeld.Store(im.held())
	if err := p.pool.First(ctx, p.accept); err != nil {
		p.log.Debug("image of an earlier process does not serve", "error", err)
		p.forget()
		return false
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // Prune removes the least recently used images first
	p.log.Debug("image of an earlier process taken", "file", name)
	return true
}

// fits reports whether an image can belong to this plugin.
func (p *Plugin) fits(im *image) bool {
	open := p.module.open
	return len(im.globals) == len(open.Globals) && len(im.vectors) == len(open.Vectors) &&
		int64(im.memory.Size()) <= p.limits.Memory && im.hasBox == p.spec.exports[abi.MailboxExport]
}

// rebuild makes the image of a memory from its parts.
func (p *Plugin) rebuild(size int, parts []linear.Part) *linear.Image {
	return linear.Rebuild(size, parts, p.engine.features.On(wazerox.Memories))
}

// accept checks the first instance made from an image on disk.
func (p *Plugin) accept(in *instance) error {
	if why := p.uncaptured(in); why != "" {
		return errors.New(why)
	}
	if in.hasBox {
		_, err := readMailbox(in.mem, in.mailbox)
		return err
	}
	return nil
}

// forget frees the image.
func (p *Plugin) forget() {
	if p.env.image == nil {
		return
	}
	p.host.memory.give(p.env.image.held())
	p.env.image.free()
	p.env.image = nil
	p.imageHeld.Store(0)
}

// preserve writes the image to disk under the name that it had before init, if init took long
// and nothing that it may have read has changed since.
func (p *Plugin) preserve(name string, took time.Duration) {
	if name == "" || p.env.image == nil || p.outside || took < p.host.slowInit || p.env.image.memory.Held() > p.host.cfg.ImageCache ||
		p.imageName() != name {
		return
	}
	if err := writeImage(name, p.host.root.Store, p.env.image); err != nil {
		p.log.Debug("image not kept", "error", err)
		return
	}
	codestore.Prune(filepath.Dir(name), p.host.cfg.ImageCache)
}

// openImages returns the folder of images, "" if images are not kept. size is the most that
// they may take together, in bytes.
func openImages(root *cacheRoot, size int64) string {
	if size <= 0 {
		return ""
	}
	dir, err := root.Folder(imageFolder)
	if err != nil {
		root.Log.Warn("images are not kept", "reason", err)
		return ""
	}
	return dir
}
