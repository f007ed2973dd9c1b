package settings

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type tree struct {
	Name  string           `json:"name"`
	Kids  []*tree          `json:"kids,omitempty"`
	By    map[string]tree  `json:"by,omitempty"`
	Pair  [2]int           `json:"pair"`
	Any   any              `json:"any"`
	Raw   json.RawMessage  `json:"raw,omitempty"`
	At    time.Time        `json:"at"`
	Ratio float32          `json:"ratio,omitempty"`
	On    bool             `json:"on,omitempty"`
	N     uint8            `json:"n,omitempty"`
	Table map[int][]string `json:"table,omitempty"`
	own   int
}

// TestSampleHoldsEverything looks into a sample, of a type that holds itself too.
func TestSampleHoldsEverything(t *testing.T) {
	var got tree
	fill(reflect.ValueOf(&got).Elem(), sampleDepth)
	doc, err := json.Marshal(&got)
	if err != nil {
		t.Fatal(err)
	}
	var back tree
	if err := json.Unmarshal(doc, &back); err != nil {
		t.Fatal(err)
	}
	if back.Name != "a" || len(back.Kids) != 1 || back.Kids[0].Name != "a" || back.By["a"].Name != "a" || back.Ratio != 0.5 || !back.On || back.N != 1 ||
		back.Table[1][0] != "a" || back.Any != nil || !back.At.IsZero() || got.own != 0 {
		t.Errorf("%s", doc)
	}
}

// TestWarmTakesAnyType warms types for which there is no document.
func TestWarmTakesAnyType(t *testing.T) {
	Warm[any]()
	Warm[func()]()
	Warm[chan int]()
	Warm[struct{ F func() }]()
	Warm[map[struct{ A, B int }]bool]()
	Warm[[]tree]()
	Warm[error]()
	var cache Cache[struct{}]
	cache.Warm()
	if _, err := cache.Get([]byte(`{}`)); err != nil {
		t.Error(err)
	}
}
