package plugin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

// learned lists what becomes of a text, with known facts k0, k1 and so on.
func learned(text string, known ...string) (out []string) {
	var s Settings
	s.Defaults()
	var facts []abi.Fact
	for i, k := range known {
		facts = append(facts, abi.Fact{ID: fmt.Sprint("k", i), Content: k})
	}
	r := Learn([]abi.Turn{{Role: "assistant", Content: "I am a model."}, {Role: "user", Content: text}}, facts, &s)
	for _, f := range r.Add {
		out = append(out, "+"+f.Content)
	}
	for _, e := range r.Update {
		out = append(out, e.ID+"="+e.Content)
	}
	return out
}

func TestLearn(t *testing.T) {
	for _, tt := range []struct {
		text  string
		known []string
		want  []string
	}{
		{"Hello. I live in Oslo!", nil, []string{"+I live in Oslo"}},
		{"I think so. I am. It works", nil, nil},
		{"I like tea\nI like tea", nil, []string{"+I like tea"}},
		{"i.e. I prefer the night train", nil, []string{"+I prefer the night train"}},
		{"I like tea", []string{"i like TEA"}, nil},
		{"My dog is called Rex.", nil, []string{"+My dog is called Rex"}},
		{"My home town is Bergen", []string{"I like tea", "my home town is Oslo"}, []string{"k1=My home town is Bergen"}},
		{"My home town is Oslo. My home town is Bergen. My home town is Rome", nil, []string{"+My home town is Rome"}},
		{"My home town is Bergen. My home town is Rome", []string{"my home town is Oslo"}, []string{"k0=My home town is Rome"}},
		{"my is is is", nil, []string{"+my is is is"}},
		{strings.Repeat("I like very ", 20), nil, nil},
		{"我住在奥斯陆。I like 茶！", nil, []string{"+I like 茶"}},
		{"", nil, nil},
	} {
		if got := learned(tt.text, tt.known...); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestTidy(t *testing.T) {
	r := Tidy([]abi.Fact{{ID: "a", Content: "likes tea"}, {ID: "b", Content: "Ann likes tea"}, {ID: "c", Content: "ann likes TEA"}, {ID: "d", Content: "x"}})
	if !slices.Equal(r.Remove, []string{"a", "c"}) {
		t.Errorf("removed %q", r.Remove)
	}
}

// Whatever users say, the answer is one that hosts accept.
func FuzzLearn(f *testing.F) {
	f.Add("My dog is Rex. I like tea", "my dog is Max", 30)
	f.Fuzz(func(t *testing.T, text, known string, words int) {
		s := Settings{Verbs: []string{"like"}, MaxWords: words}
		facts := []abi.Fact{{ID: "k", Content: known}}
		for _, r := range []abi.ExtractReply{Learn([]abi.Turn{{Role: "user", Content: text}}, facts, &s), Tidy(append(facts, abi.Fact{ID: "l", Content: text}))} {
			if err := r.Check(append(facts, abi.Fact{ID: "l"})); err != nil {
				t.Error(err)
			}
		}
	})
}
