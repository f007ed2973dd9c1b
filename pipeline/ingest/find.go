package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
)

// entry is a file that a run looks at.
type entry struct {
	id    string // the document of the file
	path  string // what users see
	size  int64
	time  time.Time
	root  *os.Root // nil for what is no file
	rel   string
	from  Source
	given bool // the user named the file itself
}

// found is what there is to read.
type found struct {
	entries []entry
	bytes   int64
	skipped int
	roots   []*os.Root
	// under are the places of which all files were found: documents there without a file are
	// deleted.
	under []string
	// unknown are places below those that could not be read.
	unknown []string
}

func (f *found) close() {
	for _, r := range f.roots {
		_ = r.Close() // only read
	}
}

func isURL(p string) bool { return strings.HasPrefix(p, "http://") || strings.HasPrefix(p, "https://") }

// find lists the files of the sources. It does not open them.
func (g *run) find(ctx context.Context, sources []Source) (*found, error) {
	f := &found{}
	for _, s := range sources {
		switch {
		case s.Reader != nil:
			f.entries = append(f.entries, entry{id: "stdin:" + s.Path, path: s.Path, from: s, given: true})
		case isURL(s.Path):
			f.entries = append(f.entries, entry{id: s.Path, path: s.Path, from: s, given: true})
		default:
			if err := g.findPath(ctx, f, s); err != nil {
				f.close()
				return nil, err
			}
		}
	}
	return f, nil
}

func (g *run) findPath(ctx context.Context, f *found, s Source) error {
	absolute, err := filepath.Abs(s.Path)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	id := filepath.ToSlash(absolute)
	info, err := os.Stat(absolute)
	if errors.Is(err, fs.ErrNotExist) {
		if g.holds(id) {
			f.under = append(f.under, id) // it was ingested, and is gone
			return nil
		}
	}
	if err != nil {
		g.fail(s.Path, fmt.Errorf("%w (check the path)", pathless(err)))
		return nil
	}
	folder := absolute
	if !info.IsDir() {
		folder = filepath.Dir(absolute)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		g.fail(s.Path, pathless(err))
		return nil
	}
	f.roots = append(f.roots, root)
	f.under = append(f.under, id)
	if !info.IsDir() {
		f.add(entry{id: id, path: filepath.ToSlash(s.Path), size: info.Size(), time: info.ModTime(), root: root, rel: filepath.Base(absolute), from: s, given: true})
		return nil
	}
	return g.walk(ctx, f, root, id, s)
}

// walk lists the files of a folder. It follows no links: those that lead out of the folder could
// bring in anything, and the others lead to what is found anyway, or in circles.
func (g *run) walk(ctx context.Context, f *found, root *os.Root, id string, s Source) error {
	shown := path.Clean(filepath.ToSlash(s.Path))
	return fs.WalkDir(root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			f.unknown = append(f.unknown, path.Join(id, rel))
			g.fail(path.Join(shown, rel), pathless(err))
			return nil
		}
		if rel == "." {
			return nil
		}
		if strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			if g.o.excluded(rel) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || parse.Media(rel) {
			f.skipped++
			return nil
		}
		if !g.o.matches(rel) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // deleted meanwhile
		}
		f.add(entry{id: path.Join(id, rel), path: path.Join(shown, rel), size: info.Size(), time: info.ModTime(), root: root, rel: rel, from: s})
		return nil
	})
}

func (o *Options) excluded(rel string) bool {
	c := Options{Exclude: o.Exclude}
	return !c.matches(rel)
}

func (f *found) add(e entry) {
	f.entries = append(f.entries, e)
	f.bytes += e.size
}

// pathless removes the path from an error, because the message names the file already.
func pathless(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
