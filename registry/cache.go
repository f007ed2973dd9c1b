package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/internal/cachedir"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/registry/internal/image"
)

// Cache keeps artifacts in a folder, as an OCI image layout that other tools read too. Any number
// of processes may use one folder at the same time. A Cache is safe for concurrent use.
//
// What is read from it is held against its digest each time, so nothing that another program
// wrote into the folder passes for something else. The tags in its index are what the registry
// said last.
type Cache struct{ dir string }

// DefaultCacheDir returns the folder anchor-host/oci in the user's cache directory, which is
// $XDG_CACHE_HOME or ~/.cache on Linux.
func DefaultCacheDir() (string, error) {
	dir, err := cachedir.Folder(cachedir.OCI)
	if err != nil {
		return "", fmt.Errorf("cache: find the user's cache directory: %w", err)
	}
	return dir, nil
}

// OpenCache returns the cache in a folder. "" is the folder of DefaultCacheDir. The folder is
// made when something is first written to it.
func OpenCache(dir string) (*Cache, error) {
	if dir == "" {
		def, err := DefaultCacheDir()
		if err != nil {
			return nil, err
		}
		dir = def
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	return &Cache{dir: dir}, nil
}

// Dir returns the folder of the cache, which other tools read as an OCI image layout.
func (c *Cache) Dir() string { return c.dir }

// blobPath returns the file of a digest, which the caller has checked.
func (c *Cache) blobPath(digest string) string {
	return filepath.Join(c.dir, "blobs", "sha256", digest[len("sha256:"):])
}

// partPath returns the file of a download that is not complete.
func (c *Cache) partPath(digest string) string {
	return filepath.Join(c.dir, "ingest", digest[len("sha256:"):])
}

// prepare makes the folders and the file that marks an image layout.
func (c *Cache) prepare() error {
	for _, sub := range []string{filepath.Join("blobs", "sha256"), "ingest", "locks"} {
		if err := os.MkdirAll(filepath.Join(c.dir, sub), 0o700); err != nil {
			if full(err) {
				return writeError(filepath.Join(c.dir, sub), err)
			}
			return fmt.Errorf("cache: make its folder: %w", err)
		}
	}
	mark := filepath.Join(c.dir, ocispec.ImageLayoutFile)
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	return c.replace(mark, []byte(layoutText))
}

const layoutText = `{"imageLayoutVersion":"1.0.0"}`

// replace writes a file of the cache so that readers see the old one or the new one.
func (c *Cache) replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Join(c.dir, "ingest"), "file-*")
	if err != nil {
		return writeError(path, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return writeError(path, err)
	}
	return nil
}

// errDisk marks that a file of the cache cannot be written.
var errDisk = errors.New("cannot write")

// writeError says that a file of the cache cannot be written, and what to do about a full disk.
func writeError(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) { // it would name the file once more
		err = at.Err
	}
	remedy := ""
	if full(err) {
		remedy = " (free space, or name another folder with --registry-cache)"
	}
	return errkind.As(errDisk, fmt.Errorf("cache: write %s: %w%s", path, err, remedy))
}

// full says whether there is no room for a file, on the disk or for its user.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// read returns the bytes of a digest. The error wraps ErrNotFound if the cache does not have
// them, ErrTooLarge if they are more than limit, and ErrDigest if the file is damaged.
func (c *Cache) read(digest string, limit int64) ([]byte, error) {
	f, err := os.Open(c.blobPath(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errkind.As(ErrNotFound, fmt.Errorf("cache: has no %s", digest))
	}
	if err != nil {
		return nil, fmt.Errorf("cache: open %s: %w", digest, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("cache: open %s: %w", digest, err)
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, errkind.As(ErrTooLarge, fmt.Errorf("cache: %s has %d bytes, the limit is %d", digest, info.Size(), limit))
	}
	text := make([]byte, info.Size())
	if _, err := io.ReadFull(f, text); err != nil {
		return nil, fmt.Errorf("cache: read %s: %w", digest, err)
	}
	if image.DigestOf(text) != digest {
		return nil, errkind.As(ErrDigest, fmt.Errorf("cache: the file of %s does not match its digest: delete %s and pull again", digest, f.Name()))
	}
	return text, nil
}

// has says whether a file of this digest and size is there. Its bytes are checked when they are
// read.
func (c *Cache) has(digest string, size int64) bool {
	info, err := os.Stat(c.blobPath(digest))
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// put keeps bytes under their digest.
func (c *Cache) put(text []byte) error {
	digest := image.DigestOf(text)
	if c.has(digest, int64(len(text))) {
		if _, err := c.read(digest, int64(len(text))); err == nil {
			return nil
		}
	}
	return c.replace(c.blobPath(digest), text)
}

// adopt moves a complete file to the place of its digest.
func (c *Cache) adopt(file, digest string) error {
	if err := os.Rename(file, c.blobPath(digest)); err != nil {
		return fmt.Errorf("cache: keep %s: %w", digest, err)
	}
	return nil
}

// lockDelay is how often a lock that another process has is tried again.
const lockDelay = 20 * time.Millisecond

// lock locks a name in the cache, alone or with others that share it. It waits until the
// context ends. The lock is gone when the process ends, however it does.
func (c *Cache) lock(ctx context.Context, name string, shared bool) (unlock func(), err error) {
	if err := c.prepare(); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(c.dir, "locks", name))
	try := l.TryLockContext
	if shared {
		try = l.TryRLockContext
	}
	if ok, err := try(ctx, lockDelay); !ok {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("cache: wait for its lock %s: %w", l.Path(), err)
	}
	return func() { _ = l.Close() }, nil
}

// use keeps Prune away while something is added.
func (c *Cache) use(ctx context.Context) (unlock func(), err error) { return c.lock(ctx, "use", true) }

// hashFile reads a file from its beginning, at most limit bytes, and returns the state of its
// hash and how many bytes it has.
func hashFile(f *os.File, limit int64) (sum *running, err error) {
	sum = &running{hash: sha256.New()}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	_, err = io.Copy(sum, io.LimitReader(f, limit))
	return sum, err
}

// running is the digest of the bytes written to it so far.
type running struct {
	hash hash.Hash
	n    int64
}

func (r *running) Write(b []byte) (int, error) {
	r.n += int64(len(b))
	return r.hash.Write(b)
}

// digest returns the digest of what was written.
func (r *running) digest() string { return "sha256:" + hex.EncodeToString(r.hash.Sum(nil)) }
