package answer

import (
	"encoding/json"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

func TestReplies(t *testing.T) {
	text := func(s string) *string { return &s }
	all := abi.PartsOf(abi.PartMessages, abi.PartMessageParts, abi.PartObservations, abi.PartReflection, abi.PartData)
	const good, invalid, denied = abi.Reason(""), abi.ReasonInvalidOutput, abi.ReasonDenied
	for name, c := range map[string]struct {
		reply any
		want  abi.Reason
	}{
		"no query":                      {&abi.TransformReply{}, invalid},
		"one query":                     {&abi.TransformReply{Queries: make([]abi.Query, 1)}, good},
		"as many queries as may be":     {&abi.TransformReply{Queries: make([]abi.Query, abi.MaxQueries)}, good},
		"one query more":                {&abi.TransformReply{Queries: make([]abi.Query, abi.MaxQueries+1)}, invalid},
		"no text of the query":          {&abi.EnrichReply{}, invalid},
		"a text of the query":           {&abi.EnrichReply{QueryText: "q"}, good},
		"tokens below 0":                {&abi.EstimateReply{Tokens: -1}, invalid},
		"no tokens":                     {&abi.EstimateReply{}, good},
		"a fact without content":        {&abi.ExtractReply{Add: make([]abi.NewFact, 1)}, invalid},
		"no facts":                      {&abi.ExtractReply{}, good},
		"nothing distilled":             {&abi.DistillReply{}, invalid},
		"observations":                  {&abi.DistillReply{Add: []string{"a"}}, good},
		"all observations removed":      {&abi.DistillReply{Replace: []string{}}, good},
		"a reflection":                  {&abi.DistillReply{Reflection: text("r")}, good},
		"a reflection and observations": {&abi.DistillReply{Reflection: text("r"), Add: []string{"a"}}, invalid},
		"a reflection and a list":       {&abi.DistillReply{Reflection: text("r"), Replace: []string{}}, invalid},
		"a blank reflection":            {&abi.DistillReply{Reflection: text(" \n")}, invalid},
		"a blank observation":           {&abi.DistillReply{Add: []string{"a", " "}}, invalid},
		"a blank replacement":           {&abi.DistillReply{Replace: []string{""}}, invalid},
		"messages":                      {&abi.ProvideReply{Messages: []abi.Message{{Role: "user"}, {Role: "assistant"}, {Role: "system"}, {Role: "tool"}}}, good},
		"an unknown role":               {&abi.ProvideReply{Messages: []abi.Message{{Role: "user"}, {Role: "poet"}}}, invalid},
		"a state":                       {&abi.ProvideReply{State: &abi.StateChange{Reflection: text("r")}}, good},
		"the ID of a run":               {&abi.ProvideReply{State: &abi.StateChange{RunID: "r"}}, denied},
		"the messages of a state":       {&abi.ProvideReply{State: &abi.StateChange{Messages: []abi.Message{}}}, denied},
		"an output":                     {&abi.FormatReply{Output: json.RawMessage(`""`)}, good},
		"no output":                     {&abi.FormatReply{}, invalid},
		"a format with a line break":    {&abi.FormatReply{Output: json.RawMessage(`""`), FormatType: "a\nb"}, invalid},
		"a count for each text":         {&abi.CountReply{Counts: []int{0, 7}}, good},
		"a count below 0":               {&abi.CountReply{Counts: []int{0, -1}}, invalid},
		"a count too few":               {&abi.CountReply{Counts: []int{7}}, invalid},
		"a count too many":              {&abi.CountReply{Counts: []int{7, 7, 7}}, invalid},
	} {
		if err := CheckReply(c.reply, true, 2, all); reasonOf(t, err) != c.want {
			t.Errorf("%s: error %v, want the reason %q", name, err, c.want)
		}
	}
	if err := CheckReply(&abi.ProvideReply{Messages: []abi.Message{{Role: "user"}}}, true, 0, abi.PartsOf(abi.PartData)); reasonOf(t, err) != invalid {
		t.Errorf("messages of a provider that does not read them: %v", err)
	}
}

// A guest may answer that nothing changes where there is something to leave as it is.
func TestRepliesWithoutChange(t *testing.T) {
	for _, reply := range []any{&abi.TransformReply{}, &abi.EnrichReply{}, &abi.DistillReply{}} {
		if err := CheckReply(reply, false, 0, abi.PartSet{}); err != nil {
			t.Errorf("%T: %v", reply, err)
		}
	}
	if err := CheckReply(&abi.FormatReply{Output: json.RawMessage(`""`)}, false, 0, abi.PartSet{}); reasonOf(t, err) != abi.ReasonInvalidOutput {
		t.Errorf("a formatter that changes nothing: %v", err)
	}
	if err := CheckReply(&abi.CountReply{}, false, 1, abi.PartSet{}); reasonOf(t, err) != abi.ReasonInvalidOutput {
		t.Errorf("a tokenizer that counts nothing: %v", err)
	}
}
