package strict

import (
	"encoding/json"
	"testing"
	"time"
)

type part struct {
	Content string         `json:"content"`
	Score   float64        `json:"score,omitempty"`
	Meta    map[string]any `json:"metadata,omitzero"`
	At      time.Time      `json:"created_at"`
}

type short struct{ part }

func (short) DocumentType() any             { return part{} }
func (s *short) UnmarshalJSON([]byte) error { return nil }

type document struct {
	TopK  int             `json:"top_k"`
	Parts []part          `json:"items"`
	Short []short         `json:"short"`
	Raw   json.RawMessage `json:"settings"`
	Keep  []uint32        `json:"keep,omitzero"`
	On    *bool           `json:"on"`
}

func TestMembers(t *testing.T) {
	for doc, want := range map[string]string{
		`{"top_k": 1, "items": [{"content": "a", "metadata": {"x": [1]}, "created_at": "2025-01-01T00:00:00Z"}], "settings": {"y": 1}, "keep": [0], "on": true}`: "",
		`{"short": ["text", {"content": "x"}]}`:  "",
		"{\n  \"topk\": 1}":                      `f.json:2:3: topk: unknown member (did you mean "top_k"?)`,
		`{"items": [{"content": 1}]}`:            `f.json:1:24: items[0].content: want a string, got 1`,
		`{"items": {"content": "a"}}`:            `f.json:1:11: items: want a list, got a map`,
		`{"short": [{"contents": "a"}]}`:         `f.json:1:13: short[0].contents: unknown member (did you mean "content"?)`,
		`{"top_k": 1.5}`:                         `f.json:1:11: top_k: want a whole number, got 1.5`,
		`{"items": [{"hidden": 1}], "on": "no"}`: "f.json:1:13: items[0].hidden: unknown member (want one of content, score, metadata, created_at)\nf.json:1:34: on: want true or false, got the string \"no\"",
		`[]`:                                     `f.json:1:1: want an object, got a list`,
	} {
		n, err := ParseJSON("f.json", []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := Members("f.json", n, document{}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", doc, got, want)
		}
	}
}
