package imports

import (
	"context"
	"errors"
	"testing"
)

// Waiting for the vocabulary ends with the context of who waits.
func TestVocabularyWaitsNoLongerThanItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	read, reads := make(chan struct{}), 0
	tokenizer := NewTokenizer(nil, func() (Vocabulary, error) {
		<-read
		reads++
		return letters{}, nil
	})
	if _, err := tokenizer.Load(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("vocabulary: error %v", err)
	}
	close(read)
	for range 2 {
		if v, err := tokenizer.Load(t.Context()); err != nil || v != (letters{}) {
			t.Errorf("vocabulary that is there: %v, error %v", v, err)
		}
	}
	if v, err := tokenizer.Load(ended); err != nil || v != (letters{}) {
		t.Errorf("vocabulary that is there, for one who cannot wait: %v, error %v", v, err)
	}
	if reads != 1 {
		t.Errorf("read %d times", reads)
	}
}

// letters counts bytes, and forgets the last of several texts.
type letters struct{}

func (letters) Name() string { return "letters" }

func (letters) Count(_ context.Context, texts ...string) ([]int, error) {
	counts := make([]int, max(1, len(texts)-1))
	for i := range counts {
		counts[i] = len(texts[i])
	}
	return counts, nil
}

// A vocabulary must return a count for each text.
func TestCountsMustBeComplete(t *testing.T) {
	tokenizer := NewTokenizer(letters{}, nil)
	if counts, err := tokenizer.Count(t.Context(), "four"); err != nil || len(counts) != 1 || counts[0] != 4 {
		t.Errorf("counts %v, error %v", counts, err)
	}
	if counts, err := tokenizer.Count(t.Context(), "a", "b"); err == nil {
		t.Errorf("counts %v of two texts", counts)
	}
}
