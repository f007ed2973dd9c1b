package abi

import (
	"slices"
	"strings"
	"testing"
)

func TestFactsAreChecked(t *testing.T) {
	known := []Fact{{ID: "a"}, {ID: "b"}}
	for doc, want := range map[string]string{
		`{}`: "",
		`{"add":[{"content":"x","memory_type":"episodic","relevance_score":1}],"update":[{"id":"a","content":"y"}],"remove":["b"]}`: "",
		`{"add":[{"content":"x"},{"content":" \n"}]}`:          "add[1]: the content is blank",
		`{"add":[{"content":"x","memory_type":"truth"}]}`:      `add[0]: memory_type "truth" (want one of semantic, episodic, procedural, conversation)`,
		`{"add":[{"content":"x","relevance_score":1.5}]}`:      "add[0]: relevance_score 1.5 (want 0 to 1)",
		`{"update":[{"id":"a"}]}`:                              "update[0]: the content is blank",
		`{"update":[{"id":"c","content":"y"}]}`:                `update[0]: the request has no fact "c"`,
		`{"remove":["a","c"]}`:                                 `remove[1]: the request has no fact "c"`,
		`{"remove":["a","a"]}`:                                 `remove[1]: fact "a" is named twice`,
		`{"update":[{"id":"a","content":"y"}],"remove":["a"]}`: `remove[0]: fact "a" is named twice`,
	} {
		var r ExtractReply
		if err := DecodeReply([]byte(doc), &r); err != nil {
			t.Errorf("%s: %v", doc, err)
			continue
		}
		got := ""
		if err := r.Check(known); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
	if err := (&ExtractReply{Remove: []string{"c"}}).Check(nil); err != nil {
		t.Errorf("without the facts of the request: %v", err)
	}
}

func TestFactsAreBounded(t *testing.T) {
	tags := func(n, size int) []string { return slices.Repeat([]string{strings.Repeat("t", size)}, n) }
	for _, tt := range []struct {
		text, tags, size int
		want             string
	}{
		{MaxFactBytes, MaxFactTags, MaxTagBytes, ""},
		{MaxFactBytes + 1, 0, 0, "the content has 65537 bytes (at most 65536)"},
		{1, MaxFactTags + 1, 1, "65 tags (at most 64)"},
		{1, 1, MaxTagBytes + 1, "tags[0]: 201 bytes (at most 200)"},
	} {
		text := strings.Repeat("x", tt.text)
		for place, r := range map[string]ExtractReply{
			"add":    {Add: []NewFact{{Content: text, Tags: tags(tt.tags, tt.size)}}},
			"update": {Update: []FactEdit{{ID: "a", Content: text, Tags: tags(tt.tags, tt.size)}}},
		} {
			got, want := "", tt.want
			if err := r.Check([]Fact{{ID: "a"}}); err != nil {
				got = err.Error()
			}
			if want != "" {
				want = place + "[0]: " + want
			}
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}
