package store

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits of every store.
const (
	// MaxName is the largest length in bytes of a tenant, kind, stream or ID. It has room
	// for a UUID, a digest or a path, and is small enough for an index.
	MaxName = 256
	// MaxData is the largest data of one record in bytes.
	MaxData = 16 << 20
	// MaxBatch is the greatest number of records and IDs in one call that writes. It
	// bounds how long one caller makes the others wait.
	MaxBatch = 10_000
	// MaxBatchData is the largest total data of one call that writes, in bytes.
	MaxBatchData = 64 << 20
	// MaxSeq is the greatest sequence number of a key.
	MaxSeq = 1<<32 - 1
)

// Times outside of this range cannot be counted in nanoseconds.
var (
	minTime = time.Unix(0, math.MinInt64)
	maxTime = time.Unix(0, math.MaxInt64)
)

// Validate returns an error that wraps [ErrInvalid] if the key has no tenant or kind, or if
// a part is longer than [MaxName], is not UTF-8 or has control characters.
func (k Key) Validate() error {
	if err := validateName("tenant", k.Tenant, true); err != nil {
		return err
	}
	if err := validateName("kind", k.Kind, true); err != nil {
		return err
	}
	return validateName("stream", k.Stream, false)
}

// Validate returns an error that wraps [ErrInvalid] if a store cannot keep the ID, the data
// or the time. It ignores Seq.
func (r *Record) Validate() error {
	if err := validateName("id", r.ID, false); err != nil {
		return err
	}
	switch {
	case len(r.Data) > MaxData:
		return fmt.Errorf("%w: data of %d bytes (at most %d)", ErrInvalid, len(r.Data), MaxData)
	case !json.Valid(r.Data) || !utf8.Valid(r.Data):
		return fmt.Errorf("%w: data is not a JSON value in UTF-8", ErrInvalid)
	case !r.Time.IsZero() && (r.Time.Before(minTime) || r.Time.After(maxTime)):
		return fmt.Errorf("%w: time %s (years 1678 to 2262)", ErrInvalid, r.Time.Format(time.RFC3339))
	}
	return nil
}

// ValidateChanges returns an error that wraps [ErrInvalid] if a key, a record or an ID in
// the changes is invalid, if two changes have the same key, or if there are too many or too
// large changes for one call.
func ValidateChanges(changes []Change) error {
	count, conditions, size := 0, 0, 0
	seen := make(map[Key]bool, len(changes))
	for i := range changes {
		c := &changes[i]
		if err := c.validate(); err != nil {
			return err
		}
		if seen[c.Key] {
			return fmt.Errorf("%w: two changes of %s in one call", ErrInvalid, c.Key)
		}
		seen[c.Key] = true
		count, conditions = count+len(c.Put)+len(c.Delete), conditions+len(c.If)
		for j := range c.Put {
			size += len(c.Put[j].Data)
		}
	}
	if n := max(count, conditions); n > MaxBatch {
		return fmt.Errorf("%w: %d records in one call (at most %d)", ErrInvalid, n, MaxBatch)
	}
	if size > MaxBatchData {
		return fmt.Errorf("%w: %d bytes of data in one call (at most %d)", ErrInvalid, size, MaxBatchData)
	}
	return nil
}

func (c *Change) validate() error {
	if err := c.Key.Validate(); err != nil {
		return err
	}
	if c.LastSeq < 0 || c.LastSeq > MaxSeq {
		return fmt.Errorf("%w: last number %d (0 to %d)", ErrInvalid, c.LastSeq, int64(MaxSeq))
	}
	for _, id := range c.Delete {
		if err := validateName("id", id, true); err != nil {
			return err
		}
	}
	for i := range c.If {
		if err := validateName("id", c.If[i].ID, true); err != nil {
			return err
		}
	}
	for i := range c.Put {
		if err := c.Put[i].Validate(); err != nil {
			return fmt.Errorf("record %d: %w", i+1, err)
		}
		if seq := c.Put[i].Seq; c.KeepSeq && (seq < 0 || seq > MaxSeq) {
			return fmt.Errorf("record %d: %w: seq %d (0 to %d)", i+1, ErrInvalid, seq, int64(MaxSeq))
		}
	}
	return nil
}

// ValidateAppend is like [ValidateChanges] for the records of an Append. These must not have
// an ID that is reserved for the store, and no ID twice.
func ValidateAppend(key Key, recs []Record) error {
	if err := ValidateChanges([]Change{{Key: key, Put: recs}}); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for i := range recs {
		id := recs[i].ID
		if id == "" {
			continue
		}
		if IsAutoID(id) {
			return fmt.Errorf("record %d: %w: id %q (IDs that begin with # are reserved for the store)", i+1, ErrInvalid, id)
		}
		if seen[id] {
			return fmt.Errorf("record %d: id %q: %w", i+1, id, ErrExists)
		}
		seen[id] = true
	}
	return nil
}

func validateName(what, s string, required bool) error {
	if s == "" && required {
		return fmt.Errorf("%w: no %s", ErrInvalid, what)
	}
	if len(s) > MaxName {
		return fmt.Errorf("%w: %s of %d bytes (at most %d)", ErrInvalid, what, len(s), MaxName)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%w: %s %q is not UTF-8", ErrInvalid, what, s)
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Errorf("%w: %s %q has control characters", ErrInvalid, what, s)
		}
	}
	return nil
}
