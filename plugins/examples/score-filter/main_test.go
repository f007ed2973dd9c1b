package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

// call asks with the columns that plugin.yaml names, in both lanes.
func call(t *testing.T, settings string, scores ...float64) *abi.Changes {
	t.Helper()
	req := &abi.ItemsRequest{Settings: json.RawMessage(settings)}
	for _, score := range scores {
		req.Items = append(req.Items, abi.Item{ID: "x", Score: score})
	}
	return pdktest.Call{Op: abi.OpFilter, Request: req, Reads: []string{"score"}, Writes: []abi.Change{abi.ChangeKeep}}.Run(t)
}

func TestFilter(t *testing.T) {
	if got := call(t, `{"min_score": 0.4}`, 0.9, 0.3, 0.4); !slices.Equal(got.Keep, []uint32{0, 2}) {
		t.Errorf("keeps %v", got.Keep)
	}
	if got := call(t, ``, 0.4, 0.3); got.Keep == nil || len(got.Keep) != 0 {
		t.Errorf("the default threshold keeps %v", got.Keep)
	}
	if got := call(t, `{}`, 0.9, 0.8); got.Keep != nil {
		t.Errorf("nothing to drop, yet keep is %v", got.Keep)
	}
	if got := call(t, `{}`); got.Keep != nil {
		t.Errorf("without items keep is %v", got.Keep)
	}
}

func TestInvalidSettings(t *testing.T) {
	c := pdktest.Call{Op: abi.OpFilter, Request: &abi.ItemsRequest{Settings: json.RawMessage(`{"min_score": 7}`)}}
	for _, lane := range []pdktest.Lane{pdktest.JSON, pdktest.Batch} {
		if _, err := c.In(lane); err == nil || err.Error() != "settings: min_score 7: not within 0..1" {
			t.Errorf("%s lane: got %v", lane, err)
		}
	}
}
