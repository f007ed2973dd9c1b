package host

import (
	"context"
	"errors"
	"testing"
)

// Waiting for the vocabulary ends with the context of the Load.
func TestVocabularyWaitsNoLongerThanItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()

	loading := &tokenizer{loaded: make(chan struct{})}
	loading.once.Do(func() {}) // another one loads it
	if _, err := loading.load(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("vocabulary: error %v", err)
	}
	close(loading.loaded)
	if _, err := loading.load(ended); err != nil {
		t.Errorf("vocabulary that is there: error %v", err)
	}
}
