package builds

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

// A record without content has no part of an item, such as the address of an image.
func TestHideTakesPartsOut(t *testing.T) {
	var it pipeline.Item
	if err := json.Unmarshal([]byte(`{"content":"a","source":"user","parts":[{"type":"image_url","image_url":{"url":"https://example.com/secret"}}]}`), &it); err != nil {
		t.Fatal(err)
	}
	whole, err := json.Marshal(it)
	if err != nil || !strings.Contains(string(whole), "secret") {
		t.Fatalf("%s, %v: want the part", whole, err)
	}
	hide(&it)
	if data, err := json.Marshal(it); err != nil || strings.Contains(string(data), "secret") {
		t.Errorf("%s, %v", data, err)
	}
}
