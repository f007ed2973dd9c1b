package repo

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
)

// The bounds of what is looked at.
const (
	// maxEntries is the largest folder. A larger one has data and not sources, and is left out.
	maxEntries = 20_000
	maxDepth   = 64
	maxPath    = 1024
)

// file is one that may be read.
type file struct {
	path string // below the root, with slashes
	size int64
	time time.Time
}

// errStop ends a walk at a bound.
var errStop = errors.New("stop")

// walker lists the files of a worktree in the order of their paths' bytes.
type walker struct {
	root    string
	after   string // files up to this path were listed by an earlier call
	skipped int    // folders and files that are left out by a bound
	each    func(f file) error
}

// walk calls each for all files. ignore are the rules from outside of the folders.
func (w *walker) walk(ctx context.Context, ignore rules) error {
	return w.folder(ctx, "", ignore, 0)
}

// folder lists a folder. One that cannot be read is left out.
func (w *walker) folder(ctx context.Context, rel string, ignore rules, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, ok := w.entries(rel)
	if !ok || depth > maxDepth {
		w.skipped++
		return nil
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".gitignore" }) {
		ignore = ignore.with(rel, string(w.read(path.Join(rel, ".gitignore"), maxIgnoreFile)))
	}
	for _, e := range entries {
		name := path.Join(rel, e.Name())
		switch {
		case left(e) || len(name) > maxPath || ignore.ignores(name, e.IsDir()):
			continue
		case e.IsDir():
			// All of a folder before the first path of this call is done.
			if below := name + "/"; w.after != "" && below < w.after && !strings.HasPrefix(w.after, below) {
				continue
			}
			if err := w.folder(ctx, name, ignore, depth+1); err != nil {
				return err
			}
			continue
		case name <= w.after:
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // deleted meanwhile
		}
		if err := w.each(file{name, info.Size(), info.ModTime()}); err != nil {
			return err
		}
	}
	return nil
}

// entries reads a folder in the order of its paths. It returns false for one that is too large or cannot be read.
func (w *walker) entries(rel string) ([]fs.DirEntry, bool) {
	f, err := os.Open(filepath.Join(w.root, filepath.FromSlash(rel)))
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }() // only read
	list, err := f.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) || len(list) > maxEntries {
		return nil, false
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	return list, true
}

// sortName has a folder sorted where the paths of its files are.
func sortName(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

// left reports whether an entry is left out by its name or kind: hidden ones but .github, links, and what is not text.
func left(e fs.DirEntry) bool {
	name := e.Name()
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return true
	case e.IsDir():
		return strings.HasPrefix(name, ".") && name != ".github" || name == "node_modules"
	case !e.Type().IsRegular() || strings.HasPrefix(name, "."):
		return true
	}
	return parse.Media(name) || madeByTool(name)
}

// madeByTool reports whether a tool writes such a file for other tools.
func madeByTool(name string) bool {
	switch name {
	case "go.sum", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "Cargo.lock", "poetry.lock", "uv.lock", "composer.lock", "Gemfile.lock":
		return true
	}
	return slices.ContainsFunc([]string{".min.js", ".min.css", ".map", ".svg", ".pb.go", ".snap"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// read returns a regular file below the root, at most so many bytes, or nil. It follows no link out of the root, and
// a pipe in the place of the file does not block.
func (w *walker) read(rel string, most int64) []byte {
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }() // only read
	f, err := root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	return project.Beginning(f, most)
}
