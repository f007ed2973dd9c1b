package doctorcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/storeurl"
	"github.com/anchor-host/anchor-host/store"
)

// storeFinding checks the store without creating or changing anything.
func storeFinding(ctx context.Context, path string) finding {
	if storeurl.Is(path) {
		return databaseFinding(ctx, path)
	}
	path, err := agentstore.Path(path)
	if err != nil {
		return finding{"store", statusWarning, err.Error()}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if target, err := os.Readlink(path); err == nil {
			return finding{"store", statusProblem, fmt.Sprintf("%s: a symbolic link to %s, which is not there (make that file, or name another one)", path, target)}
		}
		return firstWrite(path, "does not exist", " yet: the first write creates it")
	case err == nil && info.Size() == 0 && info.Mode().IsRegular():
		return firstWrite(path, "is empty", ": the first write makes it a store")
	}
	schema, err := agentstore.Schema(ctx, path)
	if err != nil {
		return finding{"store", statusProblem, err.Error()}
	}
	detail := fmt.Sprintf("%s, schema %d, %d KiB", path, schema, (info.Size()+1023)>>10)
	if err := agentstore.Verify(ctx, path); err != nil {
		return finding{"store", statusProblem, fmt.Sprintf("%s: %v%s", detail, err, storeRemedy(err))}
	}
	if err := writable(path); errors.Is(err, syscall.ENOSPC) {
		return finding{"store", statusProblem, fmt.Sprintf("%s: the disk is full: %v (make room: anchor-host memory forget works on a full disk)", detail, err)}
	} else if err != nil {
		return finding{"store", statusWarning, fmt.Sprintf("%s: can only be read: %v (make the file and its folder writable)", detail, err)}
	}
	if info.Mode().Perm()&0o077 != 0 {
		return finding{"store", statusWarning, fmt.Sprintf("%s: others may read it (mode %o; chmod 600)", detail, info.Mode().Perm())}
	}
	return finding{"store", statusOK, detail + ", can be written"}
}

// firstWrite says whether a store that has nothing yet can be written. Folders that are missing would be made.
func firstWrite(path, detail, way string) finding {
	dir := filepath.Dir(path)
	for _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	if err := folderWritable(dir); err != nil {
		return finding{"store", statusWarning, fmt.Sprintf("%s %s, and cannot be written: %v (make %s writable, or name another file with store.path)", path, detail, err, dir)}
	}
	return finding{"store", statusOK, path + " " + detail + way}
}

// muchLag is how far a replica may be behind before doctor warns.
const muchLag = time.Minute

// databaseFinding checks a store that is a database.
func databaseFinding(ctx context.Context, name string) finding {
	h, err := agentstore.Health(ctx, name)
	address := storeurl.Address(name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return finding{"store", statusOK, address + " has no tables yet: the first write makes them"}
	case err != nil:
		return finding{"store", statusProblem, err.Error()}
	}
	detail := fmt.Sprintf("%s, PostgreSQL %s, schema %d", address, h.Server, h.Schema)
	if err := agentstore.Verify(ctx, name); err != nil {
		return finding{"store", statusProblem, fmt.Sprintf("%s: %v%s", detail, err, storeRemedy(err))}
	}
	switch {
	case h.Unsafe:
		return finding{"store", statusWarning, detail + ": a crash of the server may lose what was acknowledged (set fsync and full_page_writes to on)"}
	case h.Unfenced:
		return finding{"store", statusWarning, detail + ": the policies between tenants do not hold for this role (use one that is no superuser and has no BYPASSRLS)"}
	case h.Lag > muchLag:
		return finding{"store", statusWarning, fmt.Sprintf("%s: the replica is %v behind (see store.replica)", detail, h.Lag.Round(time.Second))}
	}
	return finding{"store", statusOK, detail}
}

// storeRemedy says how to delete a damaged record.
func storeRemedy(err error) string {
	var damaged *store.CorruptError
	switch {
	case !errors.As(err, &damaged):
		return ""
	case store.IsAutoID(damaged.ID):
		return " (a turn: anchor-host memory forget --conversation ID " + strings.TrimPrefix(damaged.ID, "#") + ")"
	}
	return fmt.Sprintf(" (a fact: anchor-host memory forget %.100q; a frame or state: anchor-host memory forget --run ID)", damaged.ID)
}

// tried is the number of bytes that are written to find out whether there is room. A small
// change of the store needs as much.
const tried = 64 << 10

// writable checks that a store can write its file, and files with some content next to it.
func writable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	f.Close()
	return folderWritable(filepath.Dir(path))
}

// folderWritable creates a file of a few pages in the folder and removes it.
func folderWritable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, tried))
	if err == nil {
		err = f.Sync() // some file systems report a full disk only here
	}
	err = cmp.Or(err, f.Close())
	return err
}
