package store

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// line is a record as Export writes it, one JSON object on a line of its own.
type line struct {
	Tenant string          `json:"tenant"`
	Kind   string          `json:"kind"`
	Stream string          `json:"stream"`
	Seq    int64           `json:"seq"`
	ID     string          `json:"id"`
	Time   time.Time       `json:"time"`
	Data   json.RawMessage `json:"data"`
}

// lastLine is the last number of a key whose newest record has another one.
type lastLine struct {
	Tenant string `json:"tenant"`
	Kind   string `json:"kind"`
	Stream string `json:"stream"`
	Last   int64  `json:"last"`
}

// Export writes all records of a tenant as JSON Lines, sorted by kind, stream and
// sequence number: the same content gives the same bytes. Each line stands for
// itself, so lines can be chosen and files concatenated. Whitespace in the data is
// left out. Records that arrive meanwhile may be missing.
//
// If the store is a [Counter], a key whose newest records were deleted, or all of
// them, has a line with its last number, so that a copy does not give a number again
// that something else still names.
//
// A damaged record is an error. ExportReadable leaves it out.
func Export(ctx context.Context, s Store, w io.Writer, tenant string) error {
	return export(ctx, s, w, tenant, nil)
}

// ExportReadable is [Export] of what can be read: it calls damaged for each record that is
// not what was written, and leaves it out.
func ExportReadable(ctx context.Context, s Store, w io.Writer, tenant string, damaged func(Key, *CorruptError)) error {
	return export(ctx, s, w, tenant, damaged)
}

func export(ctx context.Context, s Store, w io.Writer, tenant string, damaged func(Key, *CorruptError)) error {
	keys, lasts, err := exported(ctx, s, tenant)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, key := range keys {
		newest := int64(0)
		var skip func(*CorruptError)
		if damaged != nil {
			skip = func(e *CorruptError) { damaged(key, e) }
		}
		for r, err := range all(ctx, s, key, 0, skip) {
			if err != nil {
				return fmt.Errorf("export: %w", err)
			}
			l := line{Tenant: key.Tenant, Kind: key.Kind, Stream: key.Stream, Seq: r.Seq, ID: r.ID, Time: r.Time, Data: r.Data}
			if err := enc.Encode(l); err != nil {
				return fmt.Errorf("export: %w", err)
			}
			newest = r.Seq
		}
		if last := lasts[key]; last > newest {
			if err := enc.Encode(lastLine{key.Tenant, key.Kind, key.Stream, last}); err != nil {
				return fmt.Errorf("export: %w", err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// exported returns the keys to export, sorted, and their last numbers.
func exported(ctx context.Context, s Store, tenant string) ([]Key, map[Key]int64, error) {
	// The numbers come first: a record that arrives after them has a greater one.
	var lasts map[Key]int64
	if c, ok := s.(Counter); ok {
		var err error
		if lasts, err = c.LastSeqs(ctx, tenant); err != nil {
			return nil, nil, err
		}
	}
	keys, err := s.Keys(ctx, tenant, "")
	if err != nil {
		return nil, nil, err
	}
	for key := range lasts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Stream, b.Stream))
	})
	return slices.Compact(keys), lasts, nil
}
