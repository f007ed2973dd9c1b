package console

import (
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/failure"
)

const (
	// sampleEvery is how often totals are read, and maxSamples how many are kept: ten minutes.
	sampleEvery, maxSamples = 2 * time.Second, 300
	// figureTime is the time that the figures are about, and binTime that of one point of a chart.
	figureTime, binTime = time.Minute, 10 * time.Second
	// maxGenerations is how many versions of the configuration are remembered.
	maxGenerations = 20
)

// history is what the totals were.
type history struct {
	mu          sync.Mutex
	samples     []moment
	generations []generation
	reloads     []reload
}

// reload is an attempt to load the configuration again. Problem says why it changed nothing.
type reload struct {
	Time    time.Time
	Problem string
}

// moment are the totals at a time.
type moment struct {
	at time.Time
	Totals
}

// generation is a version of the configuration that was in use.
type generation struct {
	Number int64
	Since  time.Time
}

func (h *history) add(at time.Time, t Totals, st anchor.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.samples) == maxSamples {
		h.samples = slices.Delete(h.samples, 0, 1)
	}
	h.samples = append(h.samples, moment{at, t})
	h.noteLocked(st)
}

// note notes the version of the configuration and the last reload.
func (h *history) note(st anchor.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteLocked(st)
}

func (h *history) noteLocked(st anchor.Status) {
	if n := len(h.reloads); !st.Last.Time.IsZero() && (n == 0 || !h.reloads[n-1].Time.Equal(st.Last.Time)) {
		if n == maxGenerations {
			h.reloads = slices.Delete(h.reloads, 0, 1)
		}
		r := reload{Time: st.Last.Time}
		if st.Last.Err != nil {
			r.Problem = begin(failure.Of(st.Last.Err).Error.Message, textLength)
		}
		h.reloads = append(h.reloads, r)
	}
	if n := len(h.generations); st.Number > 0 && (n == 0 || h.generations[n-1].Number != st.Number) {
		if n == maxGenerations {
			h.generations = slices.Delete(h.generations, 0, 1)
		}
		h.generations = append(h.generations, generation{st.Number, st.Since})
	}
}

// attempts returns the last attempts to load the configuration again, the newest first.
func (h *history) attempts() []reload {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := slices.Clone(h.reloads)
	slices.Reverse(list)
	return list
}

// read returns the samples, which do not change, and the generations, the newest first.
func (h *history) read() ([]moment, []generation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := slices.Clone(h.generations)
	slices.Reverse(g)
	return slices.Clone(h.samples), g
}
