package store

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// line is a record in the form that Export writes: one JSON object on its own line.
type line struct {
	Tenant string          `json:"tenant"`
	Kind   string          `json:"kind"`
	Stream string          `json:"stream"`
	Seq    int64           `json:"seq"`
	ID     string          `json:"id"`
	Time   time.Time       `json:"time"`
	Data   json.RawMessage `json:"data"`
}

// lastLine is the last number of a key, if that is not the number of its newest record.
type lastLine struct {
	Tenant string `json:"tenant"`
	Kind   string `json:"kind"`
	Stream string `json:"stream"`
	Last   int64  `json:"last"`
}

// Export writes all records of a tenant as JSON Lines, sorted by kind, stream and sequence
// number. Equal content gives equal bytes. Each line is independent of the others, so you
// can select lines and concatenate files. Export removes white space from the data. It may
// miss records that are written while it runs.
//
// If the store is a [Counter] and the newest records of a key were deleted, the key has a
// line with its last number. A copy then never assigns a number again that something else
// may still refer to.
//
// A damaged record is an error. Use ExportReadable to leave such records out.
func Export(ctx context.Context, s Store, w io.Writer, tenant string) error {
	return export(ctx, s, w, tenant, nil)
}

// ExportReadable is like [Export], but leaves out damaged records. It calls damaged for each
// of them.
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
	// Read the numbers first: a record that arrives later has a greater one.
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
	keys = slices.AppendSeq(keys, maps.Keys(lasts))
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Stream, b.Stream))
	})
	return slices.Compact(keys), lasts, nil
}
