package assemble

import (
	"math"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

func TestImportance(t *testing.T) {
	for _, tt := range []struct {
		stated any
		want   float64
	}{
		{0.9, 0.9}, {0.0, 0}, {int64(1), 1}, {1, 1}, {nil, 0.5}, {"high", 0.5}, {7.0, 0.5}, {int64(-1), 0.5}, {math.NaN(), 0.5}, {math.Inf(1), 0.5},
	} {
		turn := pipeline.Turn{Metadata: map[string]any{"importance": tt.stated}}
		if got := importance(&turn); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.stated, got, tt.want)
		}
	}
}
