package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// end is where a log ends.
type end struct {
	size   int64  // of the file without what a crash has left
	seq    uint64 // of the last line, 0 for none
	digest string // of the last line
	torn   []byte // what a crash has left of a line
}

// rotatedName is the name of a full file.
func rotatedName(path string, seq uint64) string { return fmt.Sprintf("%s.%012d", path, seq) }

// Check says why [Key] and [Open] would fail, and writes nothing that stays. A log that another process writes
// is no error: that process may be the service that this one would replace.
func Check(path, key string) error {
	if _, err := readKey(key); errors.Is(err, fs.ErrNotExist) {
		err = makeable(key)
		if err != nil {
			return fmt.Errorf("audit: key: %w", err)
		}
	} else if err != nil {
		return err
	}
	if _, err := findEnd(path); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		err = makeable(path)
	} else if err == nil {
		err = out.Close()
	}
	if err == nil {
		err = makeable(path) // a full file is renamed, and another one begun
	}
	if err != nil {
		return fmt.Errorf("audit: open: %w", err)
	}
	return nil
}

// makeable says why no file can be made at a path, in the words of the attempt.
func makeable(path string) error {
	out, err := os.CreateTemp(filepath.Dir(path), ".check-*")
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = &fs.PathError{Op: "open", Path: path, Err: failed.Err}
	}
	if err != nil {
		return fmt.Errorf("%w (make the folder, and let this user write there)", err)
	}
	_ = out.Close() // nothing was written
	return os.Remove(out.Name())
}

// findEnd finds the end of a log: in its file, or if that is new, in the last full one.
func findEnd(path string) (end, error) {
	e, err := endOf(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return end{}, err
	}
	if e.seq > 0 {
		return e, nil
	}
	before, err := lastRotated(path)
	if before == "" || err != nil {
		e.digest = first
		return e, err
	}
	full, err := endOf(before)
	if err != nil {
		return end{}, err
	}
	if full.seq == 0 || len(full.torn) > 0 {
		return end{}, fmt.Errorf("audit: open: %w: %s does not end with a line (look at it with audit verify, then move it away)", ErrInvalid, before)
	}
	e.seq, e.digest = full.seq, full.digest
	return e, nil
}

// lastRotated returns the name of the last full file, "" for none.
func lastRotated(path string) (name string, err error) {
	files, err := rotated(path)
	var greatest uint64
	for file, seq := range files {
		if seq >= greatest {
			greatest, name = seq, file
		}
	}
	return name, err
}

// rotated returns the full files of a log, each with the number of its last line.
func rotated(path string) (map[string]uint64, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("audit: open: %w", err)
	}
	files := map[string]uint64{}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if seq, err := strconv.ParseUint(digits, 10, 64); ok && err == nil {
			files[filepath.Join(filepath.Dir(path), e.Name())] = seq
		}
	}
	return files, nil
}

// endOf finds the end of one file. It reads only the last lines.
func endOf(path string) (end, error) {
	in, err := os.Open(path)
	if err != nil {
		return end{}, fmt.Errorf("audit: open: %w", err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return end{}, fmt.Errorf("audit: open: %w", err)
	}
	from := max(0, info.Size()-2*maxLine)
	tail := make([]byte, info.Size()-from)
	if _, err := in.ReadAt(tail, from); err != nil && !errors.Is(err, io.EOF) {
		return end{}, fmt.Errorf("audit: open: %w", err)
	}
	last := bytes.LastIndexByte(tail, '\n')
	e := end{size: from + int64(last) + 1, torn: tail[last+1:]}
	if last < 0 && from > 0 {
		return end{}, fmt.Errorf("audit: open: %w: %s has no line in its last %d bytes (move it away, and verify it)", ErrInvalid, path, len(tail))
	}
	if last < 0 {
		e.size = 0
		return e, nil
	}
	data := tail[bytes.LastIndexByte(tail[:last], '\n')+1 : last]
	var l line
	if err := json.Unmarshal(data, &l); err != nil || l.Seq == 0 {
		return end{}, fmt.Errorf("audit: open: %w: the last line of %s is no line of a log (move the file away, and verify it)", ErrInvalid, path)
	}
	e.seq, e.digest = l.Seq, digestOf(data)
	return e, nil
}
