package imagestore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
)

// folder is the folder of images in the store.
const folder = "images"

// Store keeps images. It is safe for concurrent use. A nil Store keeps none.
type Store struct {
	store *codestore.Store
	dir   string
	limit int64
}

// Open opens the images of a store. All of them together take at most limit bytes on disk; the
// least recently used ones go first.
func Open(s *codestore.Store, limit int64) (*Store, error) {
	dir, err := s.Folder(folder)
	if err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	return &Store{s, dir, limit}, nil
}

// Name is the name of an image of which these are all that its init could depend on. They
// must have an encoding in JSON.
func Name(of ...any) (string, error) {
	text, err := json.Marshal(of)
	if err != nil {
		return "", fmt.Errorf("image: encode its name: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// Load reads the image of a name. It returns nil if there is none. It removes one that is
// damaged or that does not fit, and logs why. shared asks for a memory that others can map;
// see linear.Rebuild. Call [Store.Used] if the image serves.
func (s *Store) Load(name string, shared bool, fits func(*Image) bool) *Image {
	path := filepath.Join(s.dir, name)
	im, err := read(path, s.store, shared)
	if err == nil && !fits(im) {
		im.Memory.Free()
		err = errFile
	}
	switch {
	case err == nil:
		return im
	case !errors.Is(err, fs.ErrNotExist):
		s.store.Refuse(path, err)
	}
	return nil
}

// Used marks an image as used at this moment.
func (s *Store) Used(name string) { codestore.Use(filepath.Join(s.dir, name)) }

// Save writes an image, all or nothing, and removes the least recently used ones that there
// is no room for. It fails if the memory of the image alone exceeds the limit of the store.
func (s *Store) Save(name string, im *Image) error {
	if held := im.Memory.Held(); held > s.limit {
		return fmt.Errorf("image: its memory holds %d bytes, and all images together may take %d", held, s.limit)
	}
	if err := write(filepath.Join(s.dir, name), s.store, im); err != nil {
		return err
	}
	codestore.Prune(s.dir, s.limit)
	return nil
}
