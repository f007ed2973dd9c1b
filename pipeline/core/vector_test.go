package core

import (
	"encoding/json"
	"strings"
	"testing"
)

// A vector belongs to the content that it was made of, is shared by copies, and is in no document.
func TestVector(t *testing.T) {
	it := Item{Content: "a fox", Source: SourceRetrieval, Priority: 5}
	if _, v := it.Vector(); v != nil {
		t.Errorf("an item without a vector has %v", v)
	}
	it.SetVector("m", []float32{0.5, 7.25})
	doc, err := json.Marshal(it)
	if err != nil || strings.Contains(string(doc), "7.25") {
		t.Errorf("document %s, %v", doc, err)
	}
	same := it.Clone()
	if model, v := same.Vector(); model != "m" || len(v) != 2 {
		t.Errorf("the copy has %q, %v", model, v)
	}
	same.Content = "a " + strings.Repeat("fox", 1) // the same text at another place
	if _, v := same.Vector(); v == nil {
		t.Error("an equal text lost its vector")
	}
	same.Content = "a cat"
	if model, v := same.Vector(); model != "" || v != nil {
		t.Errorf("another text has the vector %q, %v", model, v)
	}
	if it.SetVector("m", nil); it.vector != nil {
		t.Error("no values are a vector")
	}
}
