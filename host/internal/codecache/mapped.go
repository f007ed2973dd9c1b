package codecache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

const (
	// mappedFile is the name of the file in an entry that holds the machine code alone, from the start of a page on.
	mappedFile = "code"
	// leastMapped is the size, in bytes, from which on machine code has such a file.
	leastMapped = 1 << 20
)

// mapped has the machine code of a module be the pages of a file of its entry, so that what no guest runs takes no
// memory. The file is compared with the code, which was checked, and is made again if it is another. Where that does
// not work, as in a folder that cannot be written, the code stays where wazero has put it.
func (c *Cache) mapped(entry string, m wazero.CompiledModule, least int) error {
	code := wazerox.Code(m)
	if len(code) < least {
		return nil
	}
	path := filepath.Join(c.dir, entry, mappedFile)
	err := wazerox.Mappable(c.dir) // else a file would be written for nothing
	if err == nil {
		err = mapFile(code, path)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, wazerox.ErrOtherCode) {
		if err = c.writeCode(code, path); err == nil {
			err = mapFile(code, path)
		}
	}
	if err != nil {
		c.o.Store.Log.Debug("machine code of a module is in memory of this process alone", "file", path, "reason", err)
	}
	return err
}

func mapFile(code []byte, path string) error {
	f, err := codestore.OpenOwn(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return wazerox.MapCode(code, f)
}

// writeCode writes a file of which others see all or nothing. It is made beside the entries, where what a process that
// is killed leaves behind is swept, and none can write to it in place, as processes run from it.
func (c *Cache) writeCode(code []byte, path string) error {
	f, err := os.CreateTemp(c.dir, codestore.NewPrefix)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // unless it was renamed
	_, err = f.Write(code)
	if err = errors.Join(err, f.Chmod(0o400), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		codestore.Prune(c.dir, maxSize) // it is as large as the rest of the entry
	}
	return err
}
