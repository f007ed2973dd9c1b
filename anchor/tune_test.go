package anchor

import (
	"errors"
	"testing"
)

func TestTuneRefuses(t *testing.T) {
	app := load(t, "steps: [{name: a, use: top_k}]")
	for name, o := range map[string]EvaluateOptions{"other": {Other: app}, "corpus items": {CorpusItems: true}, "no files": {}} {
		if _, err := app.Tune(t.Context(), o); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
