package frames

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/anchor-host/anchor-host/pipeline"
)

// UUID names a pipeline, a plan or an intent. The zero value names nothing.
type UUID uuid.UUID

// NewUUID returns a new UUID of version 7 that begins with a time: to the millisecond, then
// its fraction in steps of 244 ns. So UUIDs sort by time. The other 62 bits are random.
func NewUUID(at time.Time) UUID {
	id := uuid.New()      // random, of this variant
	const steps = 1 << 12 // per millisecond
	fraction := at.Nanosecond() % int(time.Millisecond) * steps / int(time.Millisecond)
	binary.BigEndian.PutUint64(id[:8], uint64(max(0, at.UnixMilli()))<<16|7<<12|uint64(fraction))
	return UUID(id)
}

// ParseUUID reads the hyphenated form in either case.
func ParseUUID(s string) (UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || len(s) != len(id.String()) { // braces, urn:uuid: and no hyphens are refused
		return UUID{}, fmt.Errorf("uuid %.100q: %w (want 8-4-4-4-12 hex digits)", s, pipeline.ErrInvalid)
	}
	return UUID(id), nil
}

// IsZero reports whether the UUID names nothing.
func (id UUID) IsZero() bool { return id == UUID{} }

// String returns the hyphenated form in lower case.
func (id UUID) String() string { return uuid.UUID(id).String() }

// MarshalText writes the form of String.
func (id UUID) MarshalText() ([]byte, error) { return uuid.UUID(id).MarshalText() }

// UnmarshalText reads a UUID as ParseUUID does.
func (id *UUID) UnmarshalText(text []byte) error {
	read, err := ParseUUID(string(text))
	if err != nil {
		return err
	}
	*id = read
	return nil
}
