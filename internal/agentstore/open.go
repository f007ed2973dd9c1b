package agentstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/anchor-host/anchor-host/internal/storeurl"
	"github.com/anchor-host/anchor-host/pipeline/postgres"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

// The kinds of records of a run. Package memory has further kinds.
const (
	KindFrame = "frame" // a log of frames
	KindRun   = "run"   // the pipeline document of the frames, without them
	KindState = "state" // the state, newest version last

	KindIntent   = "intent"   // the requests of the run, newest last
	KindPlan     = "plan"     // the plans of the run, newest last
	KindSnapshot = "snapshot" // the frames that the window held at certain moments
	KindCut      = "cut"      // the texts of which messages of the run have only a part
)

// reserve is the disk space, in bytes, that the store reserves for deleting records on a full
// disk. The log needs this much for records of a few hundred KiB.
const reserve = 512 << 10

// Only this file chooses the store implementation for the command and package anchor: a URL is that of
// a database, all else is a file.

// Path returns the file of the store for messages: path, or the default file of the user if path is empty.
// Of a URL it leaves out the password.
func Path(path string) (string, error) {
	if err := storeurl.Check(path); err != nil {
		return "", fmt.Errorf("open store: %w: %w", store.ErrInvalid, err)
	}
	switch {
	case storeurl.Is(path):
		return storeurl.Address(path), nil
	case path != "":
		return path, nil
	}
	path, err := sqlite.DefaultPath()
	if err != nil {
		return "", fmt.Errorf("%w (name the file in store.path or --store, or set XDG_DATA_HOME)", err)
	}
	return path, nil
}

// Open opens the store in a file or a database, and creates it if it does not exist. An empty path means
// the default file of the user. synchronous is full or normal; empty means full.
func Open(ctx context.Context, path, synchronous string) (store.Store, error) {
	if storeurl.Is(path) {
		return openURL(ctx, path, synchronous, false)
	}
	return open(ctx, path, options(synchronous, reserve))
}

// OpenToDelete opens the store like [Open], to delete from it on a full disk. It releases the
// disk space that is reserved for this. It returns nil if no space is reserved.
func OpenToDelete(ctx context.Context, path, synchronous string) (store.Store, error) {
	if storeurl.Is(path) {
		return nil, nil
	}
	path, err := Path(path)
	if err != nil || !sqlite.FreeReserve(path) {
		return nil, err
	}
	return open(ctx, path, options(synchronous, 0))
}

// OpenToRead opens the store like [Open] if that is possible. If the user may not write, or the
// disk is full, it opens an existing store for reading only.
func OpenToRead(ctx context.Context, path, synchronous string) (store.Store, error) {
	s, err := Open(ctx, path, synchronous)
	if storeurl.Is(path) || !errors.Is(err, store.ErrReadOnly) && !errors.Is(err, store.ErrFull) {
		return s, err
	}
	s, readErr := open(ctx, path, sqlite.Options{ReadOnly: true})
	if errors.Is(readErr, fs.ErrNotExist) {
		return nil, err // the file does not exist and could not be created
	}
	return s, readErr
}

// OpenExisting opens the store like [OpenToRead], but makes no file: what would be in one is in an empty store in
// memory, which has no index for collections.
func OpenExisting(ctx context.Context, path, synchronous string) (store.Store, error) {
	if storeurl.Is(path) {
		s, err := openURL(ctx, path, synchronous, true)
		if errors.Is(err, store.ErrNotFound) {
			return store.NewMemory(), nil
		}
		return s, err
	}
	path, err := Path(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return store.NewMemory(), nil
	}
	return OpenToRead(ctx, path, synchronous)
}

// Schema returns the version of the schema of the store in a file, and changes nothing.
func Schema(ctx context.Context, path string) (version int, err error) {
	if storeurl.Is(path) {
		err = inspectURL(ctx, path, func(s *postgres.Store) error {
			version, err = s.Schema(ctx)
			return err
		})
		return version, err
	}
	err = inspect(ctx, path, func(s *sqlite.Store) error {
		version, err = s.Schema(ctx)
		return err
	})
	return version, err
}

// Usable says why the store in a file could not be opened, and changes nothing: the file is of another
// program, of a newer version, or damaged. A file that is not there, is empty or has an older schema is
// fine: a start makes it a store. An empty path means the default file of the user.
func Usable(ctx context.Context, path string) error {
	if storeurl.Is(path) {
		_, _, err := storeurl.Split(path) // the server is not asked
		return err
	}
	path, err := Path(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && info.Mode().IsRegular() && info.Size() == 0:
		return nil
	}
	if _, err = Schema(ctx, path); errors.Is(err, store.ErrReadOnly) || errors.Is(err, store.ErrBusy) {
		return nil
	}
	return err
}

// Verify reads the whole store in a file and changes nothing. The error is [store.ErrCorrupt] if
// the file is damaged.
func Verify(ctx context.Context, path string) error {
	if storeurl.Is(path) {
		return inspectURL(ctx, path, func(s *postgres.Store) error { return s.Check(ctx) })
	}
	return inspect(ctx, path, func(s *sqlite.Store) error { return s.Check(ctx) })
}

func options(synchronous string, reserve int64) sqlite.Options {
	o := sqlite.Options{Sync: sqlite.Full, Reserve: reserve}
	if synchronous == "normal" {
		o.Sync = sqlite.Normal
	}
	return o
}

func open(ctx context.Context, path string, o sqlite.Options) (store.Store, error) {
	path, err := Path(path)
	if err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, path, o)
	if err != nil {
		return nil, err // not s: an interface that holds a nil pointer is not nil
	}
	return s, nil
}

// inspect opens a store for reading only, calls f, and closes the store.
func inspect(ctx context.Context, path string, f func(*sqlite.Store) error) (err error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, s.Close()) }()
	return f(s)
}

// Listed is a collection of a store.
type Listed struct {
	retrieve.CollectionInfo
	// Unusable is the error that ingestion and searches would have, nil for none.
	Unusable error
}

// readable is an index that knows which of its collections another version of the program made.
type readable interface {
	retrieve.Index
	Readable(context.Context, retrieve.Collection) error
}

// Collections lists the collections in the store of a file, by tenant, and changes nothing: those of the
// given tenants, and with others those of all tenants that the store has. The error wraps fs.ErrNotExist if
// there is no such file.
func Collections(ctx context.Context, path string, tenants []string, others bool) (lists map[string][]Listed, err error) {
	lists = map[string][]Listed{}
	list := func(of store.Lister, index readable) error {
		if others {
			more, err := of.Tenants(ctx)
			if err != nil {
				return err
			}
			tenants = append(more, tenants...)
		}
		for _, tenant := range tenants {
			infos, err := index.Collections(ctx, tenant)
			if err != nil {
				return err
			}
			lists[tenant] = nil
			for _, c := range infos {
				lists[tenant] = append(lists[tenant], Listed{c, index.Readable(ctx, retrieve.Collection{Tenant: tenant, Name: c.Name})})
			}
		}
		return nil
	}
	if storeurl.Is(path) {
		err := inspectURL(ctx, path, func(s *postgres.Store) error { return list(s, s.Index()) })
		if errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("%w: %w", err, fs.ErrNotExist)
		}
		return lists, err
	}
	if path, err = Path(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return lists, inspect(ctx, path, func(s *sqlite.Store) error { return list(s, s.Index()) })
}

// IndexOf returns the index of collections in a store, and false if the store has none.
func IndexOf(s store.Store) (retrieve.Index, bool) {
	switch s := s.(type) {
	case *sqlite.Store:
		return s.Index(), true
	case *postgres.Store:
		return s.Index(), true
	}
	return nil, false
}

// Backup copies the store in a file into a new file, also while others use it; see
// [sqlite.Backup]. An empty path means the default file of the user.
func Backup(ctx context.Context, path, file string) (sqlite.Copy, error) {
	if storeurl.Is(path) {
		return sqlite.Copy{}, ownTools("back up", path, dumpCommand(file))
	}
	path, err := Path(path)
	if err != nil {
		return sqlite.Copy{}, err
	}
	return sqlite.Backup(ctx, path, file)
}

// Restore makes a store of a backup, where there is none; see [sqlite.Restore]. An empty path
// means the default file of the user.
func Restore(ctx context.Context, file, path string) (sqlite.Copy, error) {
	if storeurl.Is(path) {
		return sqlite.Copy{}, ownTools("restore", path, restoreCommand(file))
	}
	path, err := Path(path)
	if err != nil {
		return sqlite.Copy{}, err
	}
	return sqlite.Restore(ctx, file, path)
}

// Examine reads the whole store or backup in a file, also one with an older schema, and changes
// nothing; see [sqlite.Examine]. An empty path means the default file of the user. Of a database it reads all
// records, and Bytes are those of their data.
func Examine(ctx context.Context, path string) (sqlite.Copy, error) {
	if storeurl.Is(path) {
		return examineURL(ctx, path)
	}
	path, err := Path(path)
	if err != nil {
		return sqlite.Copy{}, err
	}
	return sqlite.Examine(ctx, path)
}
