package hooks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/anchor-host/anchor-host/internal/agentstore"
)

// maxLog is the size in bytes at which the log begins anew. The file before it is kept.
const maxLog = 1 << 20

// LogPath returns the file of the log: hooks.log beside the default store of the user.
func LogPath() (string, error) {
	store, err := agentstore.Path("")
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(store), "hooks.log"), nil
}

// Write adds a report to the log in a file, as a line of JSON. Several processes may write at once.
func Write(path string, r *Report) error {
	r.Error, r.Note = clean(truncate(r.Error, 1000)), clean(truncate(r.Note, 1000))
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("hook log: write: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("hook log: %w", err)
	}
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("hook log: %s is no regular file (remove it)", path)
		}
		if info.Size() > maxLog {
			_ = os.Rename(path, path+".1") // another process may have done it
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("hook log: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// ReadLog returns the newest reports of a log, newest first, at most most. Lines that are damaged are left out. A log
// that is not there is empty.
func ReadLog(path string, most int) ([]Report, error) {
	var reports []Report
	for _, name := range []string{path + ".1", path} {
		data, err := readTail(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("hook log: %w", err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, len(data)+1)
		for lines.Scan() {
			var r Report
			if json.Unmarshal(lines.Bytes(), &r) == nil && !r.Time.IsZero() {
				reports = append(reports, r)
			}
		}
	}
	slices.Reverse(reports)
	return reports[:min(len(reports), most)], nil
}

// readTail reads the last bytes of a log.
func readTail(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	if _, err := f.Seek(max(0, info.Size()-2*maxLog), io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, 2*maxLog))
}
