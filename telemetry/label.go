package telemetry

import (
	"strings"
	"sync"
)

// other is the value of a label in place of names for which there is no more room.
const other = "other"

const (
	// maxNames is how many different values a label has that requests can make up, besides those
	// that are known from the configuration.
	maxNames = 100
	// maxName bounds a value of a label, in bytes.
	maxName = 100
)

// vocabulary bounds the values of a label: who sends many names must not make many series.
type vocabulary struct {
	mu    sync.RWMutex
	names map[string]string
	left  int
}

func newVocabulary(most int) *vocabulary { return &vocabulary{names: map[string]string{}, left: most} }

// know takes names that always have their own value.
func (v *vocabulary) know(names ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, n := range names {
		if short := clip(n); v.names[short] == "" {
			v.names[short] = short
		}
	}
}

// of returns the value for a name: the name itself as long as there is room, else "other".
func (v *vocabulary) of(name string) string {
	if len(name) > maxName {
		name = clip(name)
	}
	v.mu.RLock()
	known, ok := v.names[name]
	full := v.left == 0
	v.mu.RUnlock()
	switch {
	case ok:
		return known
	case full:
		return other
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.left == 0 {
		return other
	}
	own := clip(name)
	if _, ok := v.names[own]; !ok {
		v.names[own] = own
		v.left--
	}
	return own
}

// clip makes a valid value of any name. The copy keeps no request in memory.
func clip(name string) string {
	return strings.ToValidUTF8(strings.Clone(name[:min(len(name), maxName)]), "\ufffd")
}
