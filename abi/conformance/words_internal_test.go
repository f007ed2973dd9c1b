package conformance

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

// What differs is shown as it is, and a case that cannot hold for its operation says which can.
func TestWordsOfDifferences(t *testing.T) {
	text := "<doc> & more"
	item := []abi.NewItem{{Content: text}}
	for _, tt := range []struct {
		name   string
		expect Expect
		rep    reply
		want   string
	}{
		{"signs", Expect{Output: json.RawMessage(`{"output":"<b>"}`)}, reply{doc: &abi.FormatReply{Output: json.RawMessage(`"` + text + `"`)}}, `expected {"output":"<b>"}`},
		{"signs of the answer", Expect{Output: json.RawMessage(`{"output":"<b>"}`)}, reply{doc: &abi.FormatReply{Output: json.RawMessage(`"` + text + `"`)}}, text},
		{"no change", Expect{NoChange: true}, reply{changes: &abi.Changes{Items: item}}, text},
		{"texts of memory", Expect{Texts: []string{text}}, reply{doc: &abi.MemoryReply{Items: item}}, "items or no_change of memory"},
		{"an answer without a change", Expect{Output: json.RawMessage(`{"items":[]}`)}, reply{}, `got no change (expect no_change: true)`},
	} {
		o := tt.expect.compare(&tt.rep, &request{op: abi.OpMemory})
		if o.verdict != Fail || !strings.Contains(o.detail, tt.want) || strings.Contains(o.detail, `\u003`) {
			t.Errorf("%s: %v %s\nlacks %s", tt.name, o.verdict, o.detail, tt.want)
		}
	}
}
