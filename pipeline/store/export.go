package store

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// Export writes all records of a tenant as JSON Lines, sorted by kind, stream and
// sequence number: the same content gives the same bytes. Each line stands for
// itself, so lines can be chosen and files concatenated. Whitespace in the data is
// left out. Records that arrive meanwhile may be missing.
func Export(ctx context.Context, s Store, w io.Writer, tenant string) error {
	keys, err := s.Keys(ctx, tenant, "")
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, key := range keys {
		for r, err := range All(ctx, s, key, 0) {
			if err != nil {
				return fmt.Errorf("export: %w", err)
			}
			l := line{Tenant: key.Tenant, Kind: key.Kind, Stream: key.Stream, Seq: r.Seq, ID: r.ID, Time: r.Time, Data: r.Data}
			if err := enc.Encode(l); err != nil {
				return fmt.Errorf("export: %w", err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}
