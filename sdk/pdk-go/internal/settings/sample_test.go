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
	Count json.Number      `json:"count"`
	own   int
}

// TestSampleHoldsEverything looks into a sample, of a type that holds itself too.
func TestSampleHoldsEverything(t *testing.T) {
	var got tree
	fill(reflect.ValueOf(&got).Elem(), map[reflect.Type]bool{})
	doc, err := json.Marshal(&got)
	if err != nil {
		t.Fatal(err)
	}
	var back tree
	if err := json.Unmarshal(doc, &back); err != nil {
		t.Fatal(err)
	}
	if back.Name != "1" || len(back.Kids) != 1 || len(back.By) != 1 || back.Count != "1" || back.Ratio != 0.5 || !back.On || back.N != 1 ||
		back.Table[1][0] != "1" || back.Any != nil || !back.At.IsZero() || got.own != 0 {
		t.Errorf("%s", doc)
	}
}

// TestWarmLeavesWhatWasDecoded warms a cache late, as a host may that asks for room late.
func TestWarmLeavesWhatWasDecoded(t *testing.T) {
	var cache Cache[checked]
	if _, err := cache.Get([]byte(`{"n":5}`)); err != nil {
		t.Fatal(err)
	}
	cache.Warm()
	if s, err := cache.Get(nil); err != nil || s.N != 3 {
		t.Errorf("%+v, %v", s, err)
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
