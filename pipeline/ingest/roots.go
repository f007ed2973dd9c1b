package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Documents are named after what was ingested: "docs/guide.md" for a file in a folder docs, and also
// for that file alone. So a folder may move, and its documents stay. Roots of equal names are told
// apart by a number: "docs-2/guide.md".

func (r *root) folder() bool { return strings.HasSuffix(r.path, "/") }

// at is the path of a document of the root.
func (r *root) at(id string) string {
	if r.folder() {
		return r.path + unescape(strings.TrimPrefix(strings.TrimPrefix(id, r.id), "/"))
	}
	return r.path
}

// stdinID begins the IDs of what came from a reader.
const stdinID = "-"

func newRoots() roots {
	return roots{byPath: map[string]*root{}, taken: map[string]bool{stdinID: true}}
}

// of returns the root of a document of the collection, nil if it has none.
func (r *roots) of(d *retrieve.DocumentInfo) *root {
	if d.Root == "" {
		return nil
	}
	known := r.byPath[d.Root]
	if known == nil {
		known = &root{path: d.Root, id: d.ID}
		if known.folder() {
			known.id, _, _ = strings.Cut(d.ID, "/")
		}
		r.add(known)
	}
	return known
}

func (r *roots) add(one *root) {
	r.byPath[one.path], r.taken[one.id] = one, true
}

// place returns the root for a file or a folder: the one that it is or lies in, one that has moved
// here, or a new one.
func (g *run) place(ctx context.Context, absolute string, folder bool) (*root, error) {
	key := absolute
	if folder {
		key = strings.TrimSuffix(absolute, "/") + "/"
	}
	for i := range len(key) {
		if key[i] == '/' && g.roots.byPath[key[:i+1]] != nil {
			return g.roots.byPath[key[:i+1]], nil
		}
	}
	if known := g.roots.byPath[key]; known != nil {
		return known, nil
	}
	moved := g.moved(key)
	if moved == nil {
		one := &root{path: key, id: g.roots.free(key)}
		g.roots.add(one)
		return one, nil
	}
	if err := g.index.SetRoot(ctx, g.o.Collection, moved.path, key); err != nil {
		return nil, err
	}
	delete(g.roots.byPath, moved.path)
	moved.path = key
	g.roots.add(moved)
	return moved, nil
}

// moved returns the root of the same name that is no longer where it was, if there is just one.
func (g *run) moved(key string) *root {
	var found *root
	for _, r := range g.roots.byPath {
		if naturalID(r.path) != naturalID(key) {
			continue
		}
		if _, err := os.Lstat(r.path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if found != nil {
			return nil
		}
		found = r
	}
	return found
}

// free returns an ID for a new root that no other root has, or has in it.
func (r *roots) free(key string) string {
	first, rest, file := strings.Cut(naturalID(key), "/")
	for n := 1; ; n++ {
		id := first
		if n > 1 {
			id = fmt.Sprintf("%s-%d", first, n)
		}
		if r.taken[id] || !file && r.hasOthers(id+"/", key) {
			continue
		}
		if file {
			id += "/" + rest
		}
		if !r.taken[id] {
			return id
		}
	}
}

// hasOthers reports whether single files outside of a folder have IDs that begin like this.
func (r *roots) hasOthers(beginning, folder string) bool {
	for _, one := range r.byPath {
		if strings.HasPrefix(one.id, beginning) && !strings.HasPrefix(one.path, folder) {
			return true
		}
	}
	return false
}

// naturalID is the ID of a root if no other has it: the name of a folder, and that of a file after
// the name of its folder.
func naturalID(key string) string {
	name := func(p string) string {
		if p = path.Base(p); p == "/" || p == "." || strings.HasSuffix(p, ":") {
			return "files"
		}
		return escape(p)
	}
	if strings.HasSuffix(key, "/") {
		return name(key)
	}
	return name(path.Dir(key)) + "/" + name(key)
}

// In IDs, # divides a file from its record.
var (
	escaper   = strings.NewReplacer("%", "%25", "#", "%23")
	unescaper = strings.NewReplacer("%25", "%", "%23", "#")
)

func escape(name string) string { return escaper.Replace(name) }
func unescape(id string) string { return unescaper.Replace(id) }
