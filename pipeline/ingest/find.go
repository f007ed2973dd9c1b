package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// shown is the path that documents and results have.
func (e *entry) shown() string {
	if e.of == nil {
		return e.path
	}
	return unescape(e.id)
}

func (f *found) close() {
	for _, r := range f.roots {
		_ = r.Close() // only read
	}
}

func isURL(p string) bool { return strings.HasPrefix(p, "http://") || strings.HasPrefix(p, "https://") }

// find lists the files of the sources. It does not open them.
func (g *run) find(ctx context.Context, sources []Source) (*found, error) {
	f := &found{under: map[string]bool{}, unknown: map[string]bool{}, bare: map[string]bool{}}
	for _, s := range sources {
		switch {
		case s.Reader != nil:
			size, _ := sizeOf(s.Reader)
			f.add(entry{id: stdinID + "/" + escape(s.Path), path: s.Path, size: size, from: s, given: true})
		case isURL(s.Path):
			g.findPage(f, s)
		default:
			if err := g.findPath(ctx, f, s); err != nil {
				f.close()
				return nil, err
			}
		}
	}
	return f, nil
}

// findPage takes an address without the place in the page.
func (g *run) findPage(f *found, s Source) {
	u, err := url.Parse(s.Path)
	switch {
	case err != nil:
		g.fail(s.Path, fmt.Errorf("not a valid address: %w", err))
	case u.User != nil:
		g.fail(u.Redacted(), errors.New("the collection would keep its password (use an address without)"))
	default:
		page, _, _ := strings.Cut(s.Path, "#")
		f.entries = append(f.entries, entry{id: page, path: page, from: s, given: true})
	}
}

func (g *run) findPath(ctx context.Context, f *found, s Source) error {
	absolute, err := filepath.Abs(s.Path)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	at := filepath.ToSlash(absolute)
	info, err := os.Stat(absolute)
	if errors.Is(err, fs.ErrNotExist) && g.holds(at) {
		f.under[at] = true // it was ingested, and is gone
		if !g.isFile(at) {
			f.bare[at] = true
		}
		return nil
	}
	if err != nil {
		g.fail(s.Path, fmt.Errorf("%w (check the path)", pathless(err)))
		return nil
	}
	if !isPath(at) {
		g.fail(s.Path, errName)
		return nil
	}
	return g.findAt(ctx, f, s, absolute, info)
}

// findAt lists a folder or takes a file, which is there.
func (g *run) findAt(ctx context.Context, f *found, s Source, absolute string, info fs.FileInfo) error {
	at, folder, file := filepath.ToSlash(absolute), absolute, ""
	if !info.IsDir() {
		real, err := filepath.EvalSymlinks(absolute) // a link that is named itself may lead anywhere
		if err != nil {
			g.fail(s.Path, pathless(err))
			return nil
		}
		folder, file = filepath.Split(real)
	}
	opened, err := os.OpenRoot(folder)
	if err != nil {
		g.fail(s.Path, pathless(err))
		return nil
	}
	f.roots = append(f.roots, opened)
	of, err := g.place(ctx, at, info.IsDir())
	if err != nil {
		return err
	}
	f.under[at] = true
	id := of.id
	if rest := strings.TrimPrefix(at, strings.TrimSuffix(of.path, "/")); rest != "" && of.folder() {
		id += "/" + escape(strings.TrimPrefix(rest, "/"))
	}
	base := entry{id: id, path: path.Clean(filepath.ToSlash(s.Path)), of: of, root: opened, from: s}
	if info.IsDir() {
		before := len(f.entries)
		err := g.walk(ctx, f, &base, at)
		if len(f.entries) == before {
			f.bare[at] = true
		}
		return err
	}
	base.size, base.time, base.rel, base.given = info.Size(), info.ModTime(), file, true
	f.add(base)
	return nil
}

var errName = errors.New("its name is not UTF-8, has control characters or is too long (rename it)")

// isPath reports whether a path can be a part of an ID.
func isPath(p string) bool {
	return utf8.ValidString(p) && len(p) <= retrieve.MaxID/2 && !strings.ContainsFunc(p, unicode.IsControl)
}

// walk lists the files of a folder. It follows no links: those that lead out of the folder could
// bring in anything, and the others lead to what is found anyway, or in circles.
func (g *run) walk(ctx context.Context, f *found, base *entry, at string) error {
	return fs.WalkDir(base.root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			f.unknown[path.Join(at, rel)] = true
			g.fail(path.Join(base.path, rel), fmt.Errorf("%w (allow reading it, or leave it out)", pathless(err)))
			return nil
		case rel == ".":
			return nil
		case strings.HasPrefix(d.Name(), ".") || d.IsDir() && g.o.excluded(rel):
			return skip(d)
		case !d.IsDir() && (!d.Type().IsRegular() || parse.Media(rel)):
			f.skipped++
			return nil
		case !d.IsDir() && !g.o.matches(rel):
			return nil
		case !isPath(rel):
			g.fail(path.Join(base.path, rel), errName)
			return skip(d)
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // deleted meanwhile
		}
		e := *base
		e.id, e.path, e.rel = base.id+"/"+escape(rel), path.Join(base.path, rel), rel
		e.size, e.time = info.Size(), info.ModTime()
		f.add(e)
		return nil
	})
}

// skip leaves out a file, or a folder with all in it.
func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (o *Options) excluded(rel string) bool {
	c := Options{Exclude: o.Exclude}
	return !c.matches(rel)
}

func (f *found) add(e entry) {
	f.entries = append(f.entries, e)
	f.bytes += e.size
}
