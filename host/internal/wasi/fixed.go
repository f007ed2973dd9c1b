package wasi

import (
	"math/rand/v2"
	"time"
)

// Sources are the clocks and the random numbers of a deterministic guest.
type Sources struct {
	random rand.ChaCha8
	// wall and mono count how often the two clocks were read. Each reading is a millisecond
	// later than the last.
	wall, mono int64
}

// epoch is the first reading of the wall clock.
var epoch = time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)

func newSources() *Sources {
	seed := [32]byte{}
	copy(seed[:], "anchor-host deterministic random")
	return &Sources{random: *rand.NewChaCha8(seed)}
}

// Read implements io.Reader. It never fails.
func (s *Sources) Read(b []byte) (int, error) { return s.random.Read(b) }

// walltime is the wall clock of the guest.
func (s *Sources) walltime() (int64, int32) {
	t := epoch.Add(time.Duration(s.wall) * time.Millisecond)
	s.wall++
	return t.Unix(), int32(t.Nanosecond())
}

// nanotime is the monotonic clock of the guest. It starts at 0.
func (s *Sources) nanotime() int64 {
	t := time.Duration(s.mono) * time.Millisecond
	s.mono++
	return int64(t)
}
