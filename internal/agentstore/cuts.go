package agentstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/anchor-host/anchor-host/store"
)

// The bounds of the cut texts of a run. The oldest texts go first.
const (
	MaxCuts     = 256
	MaxCutBytes = 32 << 20
)

// cut is the record of a text of which the messages of a run have only a part.
type cut struct {
	Text string `json:"text"`
}

// KeepCuts stores texts by their handles, see package providers. It stores no text twice. Texts
// beyond the bounds of the run are deleted, the oldest first.
func (r *Run) KeepCuts(ctx context.Context, texts map[string]string) error {
	key, added := r.key(KindCut), false
	for _, handle := range slices.Sorted(maps.Keys(texts)) {
		data, err := json.Marshal(cut{texts[handle]})
		if err != nil {
			return fmt.Errorf("run %q: encode cut text: %w", r.ID, err)
		}
		_, err = r.Store.Append(ctx, key, store.Record{ID: handle, Data: data})
		if err != nil && !errors.Is(err, store.ErrExists) {
			return fmt.Errorf("run %q: store cut text: %w", r.ID, err)
		}
		added = added || err == nil
	}
	if !added {
		return nil
	}
	recs, err := r.Store.Last(ctx, key, MaxCuts+len(texts))
	if err != nil {
		return fmt.Errorf("run %q: read cut texts: %w", r.ID, err)
	}
	var old []string
	size := 0
	for i := len(recs) - 1; i >= 0; i-- {
		if size += len(recs[i].Data); len(recs)-i > MaxCuts || size > MaxCutBytes {
			old = append(old, recs[i].ID)
		}
	}
	if len(old) == 0 {
		return nil
	}
	if _, err := r.Store.Delete(ctx, key, old...); err != nil {
		return fmt.Errorf("run %q: delete old cut texts: %w", r.ID, err)
	}
	return nil
}

// CutText returns the text of a handle. An empty run means all runs of the tenant. The error is
// [store.ErrNotFound] if there is no such text.
func CutText(ctx context.Context, s store.Store, tenant, run, handle string) (string, error) {
	keys := []store.Key{{Tenant: tenant, Kind: KindCut, Stream: run}}
	if run == "" {
		var err error
		if keys, err = s.Keys(ctx, tenant, KindCut); err != nil {
			return "", fmt.Errorf("cut text %.100q: %w", handle, err)
		}
	}
	for _, key := range keys {
		rec, err := s.Get(ctx, key, handle)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		var c cut
		if err == nil {
			err = json.Unmarshal(rec.Data, &c)
		}
		if err != nil {
			return "", fmt.Errorf("cut text %.100q: %w", handle, err)
		}
		return c.Text, nil
	}
	return "", fmt.Errorf("cut text %.100q: %w", handle, store.ErrNotFound)
}
