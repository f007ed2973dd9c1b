// Package kvstore keeps the key-value stores of plugins in a store, so that they outlive the process.
//
// What a plugin has for a tenant is the records of one key of the store: one for each value, and one
// that says how much they are together.
package kvstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/store"
)

// Kind is the kind of the records. Their stream is the name of the plugin.
const Kind = "kv"

// usageID is the ID of the record of the usage. Those of values have 64 hex digits.
const usageID = "usage"

// tries is how often a change is made anew that another process overtook.
const tries = 100

// value is the record of one value. A key and a value are any bytes.
type value struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// usage is the record of how much the values are.
type usage struct {
	Keys  int64 `json:"keys"`
	Bytes int64 `json:"bytes"`
}

// Store implements [host.KVStore] in the store that open returns. It opens the store for the first
// call of a plugin.
type Store struct {
	open func(context.Context) (store.Store, error)
}

// New returns key-value stores in the store that open returns.
func New(open func(context.Context) (store.Store, error)) *Store { return &Store{open} }

func keyOf(owner host.KVOwner) store.Key {
	return store.Key{Tenant: owner.Tenant, Kind: Kind, Stream: owner.Plugin}
}

func idOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Get implements [host.KVStore].
func (s *Store) Get(ctx context.Context, owner host.KVOwner, key string) ([]byte, error) {
	in, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	v, _, err := read[value](ctx, in, keyOf(owner), idOf(key))
	return v.Value, err
}

// Usage implements [host.KVStore].
func (s *Store) Usage(ctx context.Context, owner host.KVOwner) (keys, bytes int64, err error) {
	in, err := s.open(ctx)
	if err != nil {
		return 0, 0, err
	}
	u, _, err := usageOf(ctx, in, keyOf(owner))
	return u.Keys, u.Bytes, err
}

// usageOf reads how much the values of a key are, and a change that holds as long as nobody else
// changes one. A record of the usage that is missing or damaged is computed from the values: an export
// leaves out what is damaged.
func usageOf(ctx context.Context, in store.Store, at store.Key) (u usage, change store.Change, err error) {
	change.Key = at
	u, data, err := read[usage](ctx, in, at, usageID)
	if data != nil {
		change.If = []store.Record{{ID: usageID, Data: data}}
	}
	if (err == nil) == (data != nil) {
		return u, change, err
	}
	u, change.IfNewest = usage{}, new(int64) // nobody has stored a value
	for rec, err := range store.All(ctx, in, at, 0) {
		if err != nil {
			return u, change, fmt.Errorf("key-value store of plugin %.100q: compute its usage: %w", at.Stream, err)
		}
		*change.IfNewest = rec.Seq
		var v value
		if rec.ID == usageID || json.Unmarshal(rec.Data, &v) != nil {
			continue
		}
		u.Keys++
		u.Bytes += int64(len(v.Key) + len(v.Value))
	}
	return u, change, nil
}

// Set implements [host.KVStore].
func (s *Store) Set(ctx context.Context, owner host.KVOwner, key string, data []byte) error {
	return s.change(ctx, owner, key, data)
}

// Delete implements [host.KVStore].
func (s *Store) Delete(ctx context.Context, owner host.KVOwner, key string) error {
	return s.change(ctx, owner, key, nil)
}

// change stores a value, or deletes the key of an empty one, together with the usage.
func (s *Store) change(ctx context.Context, owner host.KVOwner, key string, data []byte) error {
	in, err := s.open(ctx)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		change, err := changing(ctx, in, owner, key, data)
		if err != nil || change == nil {
			return err
		}
		err = in.Apply(ctx, *change)
		if !errors.Is(err, store.ErrConflict) || try == tries {
			return err
		}
	}
}

// changing is a change of one value, as long as nobody else changes one. It is nil if nothing changes.
func changing(ctx context.Context, in store.Store, owner host.KVOwner, key string, data []byte) (*store.Change, error) {
	at, id := keyOf(owner), idOf(key)
	old, oldRecord, err := read[value](ctx, in, at, id)
	if err != nil {
		return nil, err
	}
	if oldRecord == nil && len(data) == 0 {
		return nil, nil
	}
	used, change, err := usageOf(ctx, in, at)
	if err != nil {
		return nil, err
	}
	if oldRecord != nil {
		used.Keys--
		used.Bytes -= int64(len(key) + len(old.Value))
	}
	if len(data) == 0 {
		change.Delete = []string{id}
	} else {
		used.Keys++
		used.Bytes += int64(len(key) + len(data))
		rec, err := json.Marshal(value{[]byte(key), data})
		if err != nil {
			return nil, fmt.Errorf("key-value store: encode value: %w", err)
		}
		change.Put = append(change.Put, store.Record{ID: id, Data: rec})
	}
	sum, err := json.Marshal(used)
	if err != nil {
		return nil, fmt.Errorf("key-value store: encode usage: %w", err)
	}
	change.Put = append(change.Put, store.Record{ID: usageID, Data: sum})
	return &change, nil
}

// read reads a record. Without one it returns a zero value and no data, and with an error the data that
// cannot be decoded.
func read[T any](ctx context.Context, in store.Store, key store.Key, id string) (doc T, data json.RawMessage, err error) {
	rec, err := in.Get(ctx, key, id)
	if errors.Is(err, store.ErrNotFound) {
		return doc, nil, nil
	}
	if err == nil {
		data, err = rec.Data, json.Unmarshal(rec.Data, &doc)
	}
	if err != nil {
		return doc, data, fmt.Errorf("key-value store of plugin %.100q: read: %w", key.Stream, err)
	}
	return doc, data, nil
}

// Forget implements [host.KVStore].
func (s *Store) Forget(ctx context.Context, tenant string) error {
	in, err := s.open(ctx)
	if err != nil {
		return err
	}
	keys, err := in.Keys(ctx, tenant, Kind)
	for _, key := range keys {
		_, failed := in.Clear(ctx, key)
		err = errors.Join(err, failed)
	}
	return err
}

// Check returns an error for a record that cannot be read as one of this kind.
func Check(_ store.Key, rec *store.Record) error {
	if rec.ID == usageID {
		var u usage
		if err := json.Unmarshal(rec.Data, &u); err != nil {
			return err
		}
		if u.Keys < 0 || u.Bytes < 0 {
			return fmt.Errorf("keys %d, bytes %d: %w (want 0 or more)", u.Keys, u.Bytes, store.ErrInvalid)
		}
		return nil
	}
	var v value
	if err := json.Unmarshal(rec.Data, &v); err != nil {
		return err
	}
	if want := idOf(string(v.Key)); rec.ID != want {
		return fmt.Errorf("id %.100q: %w (want %s, the digest of the key)", rec.ID, store.ErrInvalid, want)
	}
	return nil
}
