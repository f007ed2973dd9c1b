package frames

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// UUID names a pipeline, a plan or an intent. The zero value names nothing.
type UUID [16]byte

// NewUUID returns a new UUID of version 7: the time to the millisecond, its fraction
// in steps of 244 ns, and 62 random bits, so that ids sort by time.
func NewUUID(at time.Time) UUID {
	var id UUID
	if _, err := rand.Read(id[8:]); err != nil {
		panic(err) // documented never to happen
	}
	const steps = 1 << 12 // per millisecond
	fraction := at.Nanosecond() % int(time.Millisecond) * steps / int(time.Millisecond)
	binary.BigEndian.PutUint64(id[:8], uint64(max(0, at.UnixMilli()))<<16|7<<12|uint64(fraction))
	id[8] = id[8]&0x3f | 0x80
	return id
}

// ParseUUID reads the hyphenated form in either case.
func ParseUUID(s string) (UUID, error) {
	var id UUID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return UUID{}, fmt.Errorf("uuid %.40q: %w (want 8-4-4-4-12 hex digits)", s, pipeline.ErrInvalid)
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return UUID{}, fmt.Errorf("uuid %.100q: %w (want 8-4-4-4-12 hex digits)", s, pipeline.ErrInvalid)
	}
	return id, nil
}

// IsZero reports whether the UUID names nothing.
func (id UUID) IsZero() bool { return id == UUID{} }

// String returns the hyphenated form in lower case.
func (id UUID) String() string {
	h := hex.EncodeToString(id[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// MarshalText writes the form of String.
func (id UUID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads a UUID as ParseUUID does.
func (id *UUID) UnmarshalText(text []byte) error {
	read, err := ParseUUID(string(text))
	if err != nil {
		return err
	}
	*id = read
	return nil
}
