package host_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// The guest that ABI.md shows does what it says, whatever the number of rows.
func TestOnePage(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "one-page", host.PluginConfig{})
	step, err := newStep(p, abi.OpFilter, host.OperationOptions{Step: "s"})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 7, 1000, 100_000} {
		items := make([]abi.Item, n)
		var want []string
		for i := range items {
			items[i] = abi.Item{ID: fmt.Sprint(i), Content: "c", Source: "retrieval", Score: float64(r.IntN(5)) / 4, Priority: 5}
			if items[i].Score >= 0.5 {
				want = append(want, items[i].ID)
			}
		}
		out, err := step.Run(t.Context(), &abi.Query{}, items)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range out {
			got = append(got, out[i].ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d rows: kept %d, want %d", n, len(got), len(want))
		}
	}
}

// A query without text would find nothing, and nobody would know why.
func TestEmptyQueryIsRefused(t *testing.T) {
	wasm, err := os.ReadFile(filepath.Join(fixtures, "wrong", "empty-query.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(fixtures, "wrong", "empty-query.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := spec.Read("empty-query", wasm, manifest)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newHost(t, host.Config{}).Load(t.Context(), spec, host.PluginConfig{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := p.Operation(abi.OpEnrichQuery, host.OperationOptions{Step: "ask"})
	if err != nil {
		t.Fatal(err)
	}
	changed, err := e.AskItems(t.Context(), abi.ItemRows{}, &abi.Envelope{Query: &abi.Query{Text: "which fox?"}}, new(abi.EnrichReply))
	checkReason(t, err, abi.ReasonInvalidOutput)
	if changed {
		t.Error("the query changed")
	}
}
