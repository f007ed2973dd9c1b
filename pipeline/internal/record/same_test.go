package record

import (
	"reflect"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// TestIdenticalSeesEveryField checks that identical notices a change of each field.
func TestIdenticalSeesEveryField(t *testing.T) {
	list := []core.Item{{ID: "a", Content: "aa"}, {ID: "b", Content: "bb"}}
	if !identical(list, slices.Clone(list)) || !identical(nil, []core.Item{}) || identical(list, list[:1]) {
		t.Error("lists of the same items are not identical, or others are")
	}
	for name, change := range map[string]func(it *core.Item){
		"id":         func(it *core.Item) { it.ID += "x" },
		"content":    func(it *core.Item) { it.Content = it.Content[:len(it.Content)-1] },
		"source":     func(it *core.Item) { it.Source = core.SourceTool },
		"score":      func(it *core.Item) { it.Score += 0.25 },
		"priority":   func(it *core.Item) { it.Priority++ },
		"tokens":     func(it *core.Item) { it.TokenCount++ },
		"metadata":   func(it *core.Item) { it.Metadata = map[string]any{} },
		"created":    func(it *core.Item) { it.CreatedAt = it.CreatedAt.Add(1) },
		"sequence":   func(it *core.Item) { it.Sequence++ },
		"provenance": func(it *core.Item) { it.SetTurn(&core.Turn{Role: core.RoleSystem}) },
		"vector":     func(it *core.Item) { it.SetVector("m", []float32{1}) },
		"all of it":  func(it *core.Item) { *it = core.Item{} },
	} {
		changed := slices.Clone(list)
		change(&changed[1])
		if identical(list, changed) {
			t.Errorf("%s: identical after a change", name)
		}
	}
	if n := reflect.TypeFor[core.Item]().NumField(); n != 11 {
		t.Errorf("an item has %d fields, 11 are tried", n)
	}
}
