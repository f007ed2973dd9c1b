package connect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/internal/atomicfile"
)

// maxSettings bounds the size of a file of settings, in bytes.
const maxSettings = 16 << 20

// Change is a change of one file of settings.
type Change struct {
	// Path is the file.
	Path string
	// Before and After are its content; nil means that there is no file.
	Before, After []byte
	mode          fs.FileMode
	receipt       string
	base          []byte // what the file is without our entries; nil for no file
}

// Connect returns the changes that add our entries. Files that have them already are left out. All files are read
// and checked before the first change.
func (p *Plan) Connect() ([]Change, error) {
	return p.changes(func(t *target, c *Change) error {
		base, err := p.without(t, c)
		if err != nil {
			return err
		}
		c.base = base
		if t.toml {
			c.After, err = addTOML(base, &t.entries[0])
		} else {
			c.After, err = addJSON(base, t.entries)
		}
		return err
	})
}

// Remove returns the changes that take our entries out. Files without any are left out.
func (p *Plan) Remove() ([]Change, error) {
	return p.changes(func(t *target, c *Change) (err error) {
		c.After, err = p.without(t, c)
		c.base = c.After
		return err
	})
}

// changes reads each file, and returns those that change.
func (p *Plan) changes(change func(*target, *Change) error) ([]Change, error) {
	var list []Change
	for i := range p.targets {
		t := &p.targets[i]
		c := Change{Path: t.path, mode: 0o600, receipt: p.receiptPath(t.path)}
		var err error
		if c.Before, c.mode, err = readSettings(t.path); err == nil {
			err = change(t, &c)
		}
		if err != nil {
			return nil, fmt.Errorf("connect %s: %s: %w (nothing was changed)", p.Client, t.path, err)
		}
		if p.Client == "claude" && len(bytes.TrimSpace(c.After)) > 0 && !json.Valid(bytes.TrimPrefix(c.After, bom)) {
			p.Next = "Claude Code ignores " + t.path + " as long as it has comments or commas at the end: take them out"
		}
		if !bytes.Equal(c.Before, c.After) || (c.Before == nil) != (c.After == nil) {
			list = append(list, c)
		}
	}
	return list, nil
}

// readSettings reads a file that we may change. nil means that there is none.
func readSettings(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0o600, nil
	case err != nil:
		return nil, 0, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, 0, errors.New("is a link (replace it by its file, or add the entries of --dry-run by hand)")
	case !info.Mode().IsRegular():
		return nil, 0, errors.New("is no regular file")
	case info.Mode().Perm()&0o200 == 0:
		return nil, 0, errors.New("is read-only (allow its owner to write it)")
	case info.Size() > maxSettings:
		return nil, 0, fmt.Errorf("has more than %d MiB", maxSettings>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if data == nil {
		data = []byte{}
	}
	return data, info.Mode().Perm(), err
}

// without returns a file without our entries: as it was before, if nobody has changed it since we did.
func (p *Plan) without(t *target, c *Change) ([]byte, error) {
	if c.Before == nil {
		return nil, nil
	}
	if before, ok := undo(c.receipt, c.Before); ok {
		return before, nil
	}
	if t.toml {
		return stripTOML(c.Before, &t.entries[0])
	}
	if len(bytes.TrimSpace(bytes.TrimPrefix(c.Before, bom))) == 0 {
		return c.Before, nil
	}
	return stripJSON(c.Before, t.entries)
}

// receipt says how a file comes back that we changed: its beginning and its end are those of the changed file.
type receipt struct {
	Path string `json:"path"`
	// After is the SHA-256 digest of the changed file.
	After string `json:"after"`
	// None says that there was no file. Else the file was the first Head bytes, Middle, and the last Tail bytes.
	None   bool   `json:"none,omitempty"`
	Head   int    `json:"head"`
	Tail   int    `json:"tail"`
	Middle []byte `json:"middle,omitempty"`
}

func (p *Plan) receiptPath(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(p.o.Receipts, p.Client+"-"+hex.EncodeToString(sum[:8])+".json")
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// newReceipt describes the way back from after to before.
func newReceipt(path string, before, after []byte) receipt {
	r := receipt{Path: path, After: digest(after), None: before == nil}
	for r.Head < len(before) && r.Head < len(after) && before[r.Head] == after[r.Head] {
		r.Head++
	}
	for r.Tail < min(len(before), len(after))-r.Head && before[len(before)-1-r.Tail] == after[len(after)-1-r.Tail] {
		r.Tail++
	}
	r.Middle = before[r.Head : len(before)-r.Tail]
	return r
}

// undo returns what a file was, if it is as a receipt says. nil with true means that there was none.
func undo(file string, now []byte) (before []byte, ok bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	var r receipt
	if json.Unmarshal(data, &r) != nil || r.After != digest(now) || r.Head < 0 || r.Tail < 0 || r.Head+r.Tail > len(now) {
		return nil, false
	}
	if r.None {
		return nil, true
	}
	before = append([]byte{}, now[:r.Head]...)
	before = append(before, r.Middle...)
	return append(before, now[len(now)-r.Tail:]...), true
}

// Apply writes the change, whole or not at all. It refuses if the file changed meanwhile.
func (c *Change) Apply() error {
	now, _, err := readSettings(c.Path)
	if err == nil && (!bytes.Equal(now, c.Before) || (now == nil) != (c.Before == nil)) {
		err = errors.New("somebody else changed it meanwhile (try again)")
	}
	if err == nil {
		err = c.write()
	}
	if err != nil {
		return fmt.Errorf("connect: %s: %w", c.Path, err)
	}
	return nil
}

func (c *Change) write() error {
	if c.After == nil {
		return errors.Join(os.Remove(c.Path), forget(c.receipt))
	}
	if bytes.Equal(c.After, c.base) { // a removal
		return errors.Join(atomicfile.Write(c.Path, c.mode, c.After), forget(c.receipt))
	}
	// The receipt goes first: without the change it fits nothing, and is not used.
	data, err := json.Marshal(newReceipt(c.Path, c.base, c.After))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.receipt), 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(c.receipt, 0o600, data); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(c.Path, c.mode, c.After)
}

func forget(receipt string) error {
	if err := os.Remove(receipt); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
