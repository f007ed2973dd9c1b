package core_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// An item with parts has them at its end, compact.
func TestPartsAreWritten(t *testing.T) {
	it := core.Item{ID: "a", Content: "<text>", Source: core.SourceUser, Priority: 5, CreatedAt: time.Unix(1, 0).UTC()}
	parts, err := message.DecodeParts([]byte(`[{"type": "image_url", "image_url": {"url": "https://example.com/<a>&b"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	if err := it.SetParts(parts); err != nil {
		t.Fatal(err)
	}
	raw, err := message.AppendParts(nil, it.Parts())
	if err != nil {
		t.Fatal(err)
	}
	type plain core.Item
	doc := plain(it)
	doc.Metadata = map[string]any{}
	want, err := json.Marshal(struct {
		plain
		Parts json.RawMessage `json:"parts"`
	}{doc, raw})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(it); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}

// An item that did not get into the window keeps its parts when it is written and read again.
func TestOverflowKeepsParts(t *testing.T) {
	var it core.Item
	doc := `{"content":"a","source":"user","parts":[{"type":"image_url","image_url":{"url":"https://example.com/a"}}]}`
	if err := json.Unmarshal([]byte(doc), &it); err != nil {
		t.Fatal(err)
	}
	want, err := message.AppendParts(nil, it.Parts())
	if err != nil || it.Parts() == nil {
		t.Fatalf("no parts: %v", err)
	}
	data, err := json.Marshal(core.OverflowItem{Item: it, Reason: core.OverflowSourceCap})
	if err != nil {
		t.Fatal(err)
	}
	var back core.OverflowItem
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if got, err := message.AppendParts(nil, back.Parts()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("parts %s (%v), want %s, in %s", got, err, want, data)
	}
}

// What JSON cannot state is an error, wherever it is.
func TestAppendErrors(t *testing.T) {
	good := core.Item{ID: "a", Source: core.SourceUser}
	for _, bad := range []core.Item{{Score: math.NaN()}, {CreatedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, {Metadata: map[string]any{"f": func() {}}}} {
		w := core.Window{Items: []core.Item{good, bad, good}}
		if got, err := json.Marshal(&w); err == nil {
			t.Errorf("%s", got)
		}
		if got, err := (core.OverflowItem{Item: bad}).MarshalJSON(); err == nil {
			t.Errorf("%s", got)
		}
	}
}
