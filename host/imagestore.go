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

// Images that took long to make are kept on disk, so that another process, or a
// later one, need not run init again. The name of one is the hash of all that init
// can depend on: the module as it was rewritten, settings, grants, limits, the level
// of the log, the start of the system, since which the stopwatch goes, and the names,
// sizes and times of the files it may read. What cannot be put into a name keeps an
// image off the disk: answers from the network, the key-value store, functions of the
// embedder, the time of day, and files that changed in the meantime. So do config
// values and settings that the plugin's schema marks as secrets.

const (
	// imageFolder is the folder of images in the cache directory.
	imageFolder = "images"
	// imageFormat is part of the names; a change of what images hold, or of what
	// host functions answer in init, needs a new one.
	imageFormat = 2
	// slowInit is how long an init takes that is worth the disk: reading an image
	// of a few MiB and checking it takes a good part of that.
	slowInit = 20 * time.Millisecond
	// maxFingerprint is the most files of all mounts whose changes are looked for.
	maxFingerprint = 50_000
	// settling is the age at which a change to a file certainly shows in its time.
	settling = 100 * time.Millisecond
)

// imageName is the file of the plugin's image, "" if it is not kept on disk. It
// changes with the mounted files.
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

// fingerprint is a hash of the names, sizes, times and stamps of all mounted
// files. ok is false if there are too many, or one changed just now.
func fingerprint(mounts []mount) (sum string, ok bool) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	seen := 0
	var newest time.Time
	for _, m := range mounts {
		if m.given != nil { // whose changes do not show
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

// restore starts the plugin from the image of that name, if there is one that
// serves. A damaged one is removed.
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
	p.image = im
	p.imageHeld.Store(im.held())
	if err := p.pool.first(ctx, p.accept); err != nil {
		p.log.Debug("image of an earlier process does not serve", "error", err)
		p.forget()
		return false
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // least recently used ones go first
	p.log.Debug("image of an earlier process taken", "file", name)
	return true
}

// fits reports whether an image can be one of this plugin.
func (p *Plugin) fits(im *image) bool {
	open := p.module.open
	return len(im.globals) == len(open.Globals) && len(im.vectors) == len(open.Vectors) &&
		int64(im.memory.Size()) <= p.limits.Memory && im.hasBox == p.spec.exports[abi.MailboxExport]
}

// rebuild makes the memory of an image of its parts.
func (p *Plugin) rebuild(size int, parts []linear.Part) *linear.Image {
	return linear.Rebuild(size, parts, p.engine.features.On(wazerox.Memories))
}

// accept checks the first instance that was made from an image of disk.
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

// forget gives up the image.
func (p *Plugin) forget() {
	if p.image == nil {
		return
	}
	p.host.memory.give(p.image.held())
	p.image.free()
	p.image = nil
	p.imageHeld.Store(0)
}

// preserve keeps the image on disk under the name it had before init, if that took
// long enough and nothing it may have read has changed since.
func (p *Plugin) preserve(name string, took time.Duration) {
	if name == "" || p.image == nil || p.outside || took < p.host.slowInit || p.image.memory.Held() > p.host.cfg.ImageCache ||
		p.imageName() != name {
		return
	}
	if err := writeImage(name, p.host.root.Store, p.image); err != nil {
		p.log.Debug("image not kept", "error", err)
		return
	}
	codestore.Prune(filepath.Dir(name), p.host.cfg.ImageCache)
}

// openImages returns the folder of images of at most size bytes, "" if none is to be
// used.
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
