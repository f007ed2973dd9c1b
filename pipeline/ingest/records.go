package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

func sumOf(hash string) sum {
	all := sha256.Sum256([]byte(hash))
	return sum(all[:])
}

// recordIDs is the range of the IDs of all records of a file.
func recordIDs(file string) retrieve.IDs {
	return retrieve.IDs{From: file + "#", Before: file + "$"} // $ follows #
}

func newRecords() *records {
	return &records{seed: maphash.MakeSeed(), state: map[uint64]recordState{}}
}

func (r *records) key(id string) uint64 { return maphash.String(r.seed, id) }

// load reads which records of a file the collection has.
func (g *run) load(ctx context.Context, file string, r *records) error {
	for d, err := range g.index.Documents(ctx, g.o.Collection, recordIDs(file)) {
		if err != nil {
			return err
		}
		r.state[r.key(d.ID)] = recordState{sum: sumOf(d.Hash), old: !g.lacksVectors(&d)}
	}
	r.loaded = len(r.state)
	return nil
}

// lacksVectors reports whether a document lost its vectors with the model before.
func (g *run) lacksVectors(d *retrieve.DocumentInfo) bool {
	return g.model != (retrieve.Model{}) && d.Chunks > 0 && d.Vectors == 0
}

// take returns the ID of a record, and whether the collection has it as it is. Records of
// the same name get numbers.
func (r *records) take(file, name, hash string) (id string, current bool) {
	id = file + "#" + name
	first := r.key(id)
	k, base := first, r.state[first]
	if base.seen {
		n := max(base.next, 2)
		for ; ; n++ {
			if k = r.key(id + "-" + strconv.Itoa(int(n))); !r.state[k].seen {
				break
			}
		}
		id += "-" + strconv.Itoa(int(n))
		base.next = n + 1
		r.state[first] = base
	}
	s := r.state[k]
	current = s.old && s.sum == sumOf(hash)
	s.seen = true
	r.state[k] = s
	return id, current
}

// stale counts the records that are no longer in the file.
func (r *records) stale() (n int) {
	for _, s := range r.state {
		if !s.seen {
			n++
		}
	}
	return n
}

// removeStale deletes the records that are no longer in the file.
func (g *run) removeStale(ctx context.Context, file string, r *records) error {
	if r.stale() == 0 {
		return nil
	}
	return g.removeRange(ctx, recordIDs(file), func(id string) bool { return !r.state[r.key(id)].seen })
}

// removeRange deletes the documents of a range that are chosen.
func (g *run) removeRange(ctx context.Context, ids retrieve.IDs, chosen func(id string) bool) error {
	var list []string
	for d, err := range g.index.Documents(ctx, g.o.Collection, ids) {
		if err != nil {
			return err
		}
		if chosen(d.ID) {
			list = append(list, d.ID)
		}
		if len(list) == retrieve.MaxBatch {
			if err := g.remove(ctx, list); err != nil {
				return err
			}
			list = list[:0]
		}
	}
	return g.remove(ctx, list)
}

// recordHash is the digest of what a record has.
func recordHash(d *parse.Document) string {
	h := sha256.New()
	put := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(h, "%d:%s", len(p), p)
		}
	}
	put(d.Title, d.Time.String())
	for _, k := range slices.Sorted(maps.Keys(d.Meta)) {
		put(k, d.Meta[k])
	}
	for i := range d.Blocks {
		put(d.Blocks[i].Text, strconv.Itoa(d.Blocks[i].Lines.From))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// isRecord reports whether an ID is that of a record, and returns that of its file.
func isRecord(id string) (file string, ok bool) {
	file, _, ok = strings.Cut(id, "#")
	return file, ok
}
