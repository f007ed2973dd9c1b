package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host/record"
)

// maxFiles bounds the files of a recorder.
const maxFiles = 10_000

// Recorder writes each call of a plugin into a file of its own. It is safe for concurrent use.
type Recorder struct {
	dir string

	mu      sync.Mutex
	last    map[string]int // the last number, by what precedes it in names
	left    int64          // how many bytes may still be written
	files   int
	written int64
	leftOut int64 // bytes of calls that are not in the files
	missing int   // calls that are not there at all
	why     error // why the first of them is not
}

// New returns a recorder that writes at most maxBytes into dir, which it makes. An error is about
// the folder.
func New(dir string, maxBytes int64) (*Recorder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Recorder{dir: dir, left: maxBytes, last: map[string]int{}}, nil
}

// Add writes a call. What could not be written, Err and Summary say.
func (r *Recorder) Add(c record.Call) {
	c.Operation = abi.Operation(strings.TrimPrefix(string(c.Operation), "anchor_"))
	if !recorded(c.Operation) {
		return
	}
	doc, err := encode(c)
	if err == nil && len(doc) > MaxFile {
		err = fmt.Errorf("a file of %d bytes, allowed %d", len(doc), MaxFile)
	}
	if err == nil {
		err = r.take(int64(len(doc)))
	}
	if err == nil {
		err = r.write(c, doc)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leftOut += c.LeftOut
	if err == nil {
		r.files, r.written = r.files+1, r.written+int64(len(doc))
		return
	}
	r.leftOut += int64(len(doc))
	r.missing++
	if r.why == nil {
		r.why = fmt.Errorf("plugin %q: %s: %w", c.Plugin, c.Operation, err)
	}
}

// take takes room for a file.
func (r *Recorder) take(n int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > r.left || r.files >= maxFiles {
		return fmt.Errorf("the recording has no more room (it has %d files and may have %d bytes more)", r.files, r.left)
	}
	r.left -= n
	return nil
}

// encode makes the text of a file.
func encode(c record.Call) ([]byte, error) {
	own, err := caseOf(caseName(c), c)
	if err != nil {
		return nil, err
	}
	return Encode(own)
}

// Encode is a case as the text of a file.
func Encode(c *conformance.OwnCase) ([]byte, error) {
	doc, err := text(c)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, doc, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// caseName is the name of a case, which says which call it was.
func caseName(c record.Call) string {
	name := "recorded " + string(c.Operation)
	if c.Step != "" {
		name += " in step " + oneLine(c.Step)
	}
	return name
}

// write writes a file under a name that no other file has, so that it is there whole or not at
// all.
func (r *Recorder) write(c record.Call, doc []byte) error {
	f, err := os.CreateTemp(r.dir, ".recording-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(doc)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	name, err := r.free(fileName(c.Plugin) + "-" + string(c.Operation))
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// free makes an empty file whose name nothing has, and returns the name.
func (r *Recorder) free(prefix string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		r.last[prefix]++
		name := filepath.Join(r.dir, fmt.Sprintf("%s-%03d.json", prefix, r.last[prefix]))
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return name, f.Close()
		}
		if !errors.Is(err, os.ErrExist) {
			return "", err
		}
	}
}

// Files is the number of files that were written.
func (r *Recorder) Files() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.files
}

// Summary says what was written, and what was left out, in one line.
func (r *Recorder) Summary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := fmt.Sprintf("recorded %d calls in %s (%d bytes)", r.files, r.dir, r.written)
	if r.leftOut > 0 || r.missing > 0 {
		text += fmt.Sprintf("; left out: %d calls, %d bytes", r.missing, r.leftOut)
	}
	if r.why != nil {
		text += ": " + r.why.Error()
	}
	return text
}

// fileName is a name without what file systems treat in a special way.
func fileName(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '-'
	}, fmt.Sprintf("%.60s", s))
}

// oneLine is a text without control characters.
func oneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, s)
}
