package ingest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// ErrMissing means that a run did all but delete, because more files are gone than is likely: a folder
// has nothing to read in it, or more than five files and more than half of those that the collection has
// of the sources are missing. A file that has only moved does not count.
var ErrMissing = errors.New("too many files are missing")

// fewMissing is how many files may be missing, whatever their share is.
const fewMissing = 5

// shownMissing is how many missing files an error names.
const shownMissing = 10

// removeMissing deletes the documents whose files are gone.
func (g *run) removeMissing(ctx context.Context, f *found) error {
	gone, lost, all := slices.Clone(g.lostPages), len(g.lostPages), len(g.lostPages)
	bare := ""
	for id, k := range g.known {
		at := k.at(id)
		switch {
		case g.seen[id]:
			all++
		case within(at, f.under) && !within(at, f.unknown):
			all++
			if gone = append(gone, id); g.added[k.sum] {
				continue // it has moved
			}
			lost++
			for place := range f.bare {
				if within(at, map[string]bool{place: true}) {
					bare = max(bare, place)
				}
			}
		}
	}
	slices.Sort(gone)
	if g.o.RemoveMissing || bare == "" && !many(lost, all) {
		return g.removeFiles(ctx, gone)
	}
	g.report.Missing = len(gone)
	names := gone
	if len(names) > shownMissing {
		names = append(slices.Clone(names[:shownMissing]), fmt.Sprintf("… and %d more", len(gone)-shownMissing))
	}
	why := ErrMissing
	if bare != "" {
		why = fmt.Errorf("%w: nothing to read is in %s", ErrMissing, bare)
	}
	return fmt.Errorf("%w: nothing was removed; it would have been %d of %d: %s (mount or restore what is missing; or delete these documents with --remove-missing, or keep them with --keep)",
		why, len(gone), all, strings.Join(names, ", "))
}

// many reports whether more of all are missing than is likely.
func many(missing, all int) bool { return missing > fewMissing && missing > all/2 }

// shrunk refuses a file that has lost most of its records, as one does that was cut off.
func (w *fileWork) shrunk(ctx context.Context, k known) error {
	if w.o.Keep || w.o.RemoveMissing || w.e.from.Reader != nil {
		return nil
	}
	r, err := w.recordsBefore(ctx, k)
	if err != nil {
		return &stopError{err}
	}
	if r == nil {
		return nil
	}
	if n := r.stale(); many(n, r.loaded) && len(r.state)-n < r.loaded/2 {
		return fmt.Errorf("it lacks %d of its %d records, which stay: %w (restore it, or delete them with --remove-missing)", n, r.loaded, ErrMissing)
	}
	return nil
}

// isFile reports whether the collection has a file or a page of a path, and not of places below it.
func (g *run) isFile(at string) bool {
	for id, k := range g.known {
		if k.at(id) == at {
			return true
		}
	}
	return false
}

// holds reports whether the collection has documents of a file or a folder.
func (g *run) holds(place string) bool {
	for id, k := range g.known {
		if within(k.at(id), map[string]bool{place: true}) {
			return true
		}
	}
	return false
}

// within reports whether a path is one of some places or below one.
func within(p string, places map[string]bool) bool {
	for !places[p] {
		up := path.Dir(p)
		if up == p {
			return false
		}
		p = up
	}
	return true
}
