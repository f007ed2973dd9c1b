package authoring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxWatched bounds the files of a project that is watched.
const maxWatched = 20_000

// Files are the source files of a project, by their path in it. They are compared by size and
// time, which works on every file system, such as one that a container shares.
type Files map[string]fileStamp

type fileStamp struct {
	size int64
	time time.Time
}

// made are folders and files that a build writes into a project. What begins with a dot is not
// watched either.
var made = []string{"build", "target", "node_modules", "zig-out", "__pycache__", "Cargo.lock", "package-lock.json"}

// beside are patterns of files that no build reads: what people read, and what editors leave.
var beside = []string{"README*", "LICENSE*", "CHANGELOG*", "*~", "*.bak", "*.orig", "*.tmp", "*.log", "*.sw[op]", "#*#", "4913"}

// watched reports whether a change of a file or a folder matters to a build.
func watched(name string) bool {
	return !strings.HasPrefix(name, ".") && !slices.Contains(made, name) && !slices.ContainsFunc(beside, func(pattern string) bool {
		matches, _ := filepath.Match(pattern, name) // the patterns are good
		return matches
	})
}

// Scan lists the source files of a project. A file that vanishes meanwhile is left out.
func Scan(dir string) (Files, error) {
	files := Files{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case path == dir && err != nil:
			return err
		case err != nil: // a folder that cannot be read has no sources
			return nil
		case path == dir:
			return nil
		case !watched(e.Name()):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		}
		info, err := os.Stat(path) // of the file that a link leads to
		if err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // it is not there any more
		}
		if len(files) == maxWatched {
			return errors.New("too many files")
		}
		name, err := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = fileStamp{info.Size(), info.ModTime()}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	return files, nil
}

// Changed returns the names of the files that differ from those before, sorted.
func (f Files) Changed(before Files) []string {
	var names []string
	for name, s := range f {
		if old, ok := before[name]; !ok || old.size != s.size || !old.time.Equal(s.time) {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, ok := f[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
