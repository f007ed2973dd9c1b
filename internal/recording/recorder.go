package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/appendjson"
	"github.com/anchor-host/anchor-host/internal/atomicfile"
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
	if !recorded(c.Operation) {
		return
	}
	n, err := r.save(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leftOut += c.LeftOut
	if err == nil {
		r.files, r.written = r.files+1, r.written+n
		return
	}
	r.leftOut += n
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

// save writes a call under a name that no other file has, and returns its size.
func (r *Recorder) save(c record.Call) (int64, error) {
	prefix := fileName(c.Plugin) + "-" + string(c.Operation)
	for {
		name := fmt.Sprintf("%s-%03d", prefix, r.number(prefix))
		own, err := Case(caseName(name, c.Step), c)
		if err != nil {
			return int64(len(c.Request) + len(c.Answer)), err
		}
		doc, err := Encode(own)
		n := int64(len(doc))
		if err == nil && n > MaxFile {
			err = fmt.Errorf("a file of %d bytes, allowed %d", n, MaxFile)
		}
		if err == nil {
			err = r.take(n)
		}
		if err == nil {
			err = atomicfile.Create(filepath.Join(r.dir, name+".json"), 0o644, doc)
		}
		if !errors.Is(err, os.ErrExist) {
			return n, err
		}
	}
}

// number is the next number for a prefix of names.
func (r *Recorder) number(prefix string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.last[prefix]; !known {
		r.last[prefix] = lastNumber(r.dir, prefix)
	}
	r.last[prefix]++
	return r.last[prefix]
}

// lastNumber is the highest number that files with a prefix have, 0 for none.
func lastNumber(dir, prefix string) (last int) {
	files, err := filepath.Glob(filepath.Join(dir, prefix+"-*.json")) // the prefix has no special characters
	if err != nil {
		return 0
	}
	for _, f := range files {
		text := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), prefix+"-"), ".json")
		if n, err := strconv.Atoi(text); err == nil {
			last = max(last, n)
		}
	}
	return last
}

// Encode is a case as the text of a file.
func Encode(c *conformance.OwnCase) ([]byte, error) {
	doc, err := appendjson.Append(nil, c)
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

// caseName is the name of a case: that of its file, and the step that the call was for.
func caseName(file, step string) string {
	if step == "" {
		return file
	}
	return file + " in step " + oneLine(step)
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
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, s)
}
