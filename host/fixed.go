package host

import (
	"math/rand/v2"
	"time"
)

// fixedSources are the clocks and the random numbers of a deterministic plugin. They are
// part of the state of an instance.
type fixedSources struct {
	random rand.ChaCha8
	// wall and mono count how often the two clocks were read. Each reading is a millisecond
	// later than the last.
	wall, mono int64
}

// fixedEpoch is the first reading of the wall clock.
var fixedEpoch = time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)

func newFixedSources() *fixedSources {
	seed := [32]byte{}
	copy(seed[:], "anchor-host deterministic random")
	return &fixedSources{random: *rand.NewChaCha8(seed)}
}

// Read implements io.Reader.
func (f *fixedSources) Read(b []byte) (int, error) { return f.random.Read(b) }

// walltime is the wall clock of the guest.
func (f *fixedSources) walltime() (int64, int32) {
	t := fixedEpoch.Add(time.Duration(f.wall) * time.Millisecond)
	f.wall++
	return t.Unix(), int32(t.Nanosecond())
}

// nanotime is the monotonic clock of the guest. It starts at 0.
func (f *fixedSources) nanotime() int64 {
	now := time.Duration(f.mono) * time.Millisecond
	f.mono++
	return int64(now)
}
