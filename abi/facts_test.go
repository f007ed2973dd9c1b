package abi

import "testing"

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
