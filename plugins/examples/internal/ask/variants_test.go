package ask

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func TestVariants(t *testing.T) {
	fakes := pdktest.Use(t, pdktest.Services{})
	q := &pdk.Query{Text: "Why?", Embedding: []float32{1}, Metadata: pdk.Metadata{"user": "ann"}}
	for _, c := range []struct {
		keep  bool
		most  int
		texts []string
		err   error
		want  string
	}{
		{true, 9, []string{" how come? ", "", "WHY?", "How  come?", "what for?"}, nil, "Why?|how come?|what for?"},
		{false, 9, []string{"how come?"}, nil, "how come?"},
		{true, 2, []string{"a", "b"}, nil, "Why?|a"},
		{true, 9, []string{"why?"}, nil, ""},
		{false, 9, nil, nil, ""},
		{true, 9, nil, errors.New("llm: timeout"), ""},
	} {
		var texts []string
		for _, v := range Variants(q, c.keep, c.most, c.texts, c.err) {
			texts = append(texts, v.Text)
			if kept := v.Text == q.Text; kept == (v.Embedding == nil) || !reflect.DeepEqual(v.Metadata, q.Metadata) {
				t.Errorf("variant %+v", v)
			}
		}
		if got := strings.Join(texts, "|"); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if logs := fakes.Logs(); len(logs) != 1 || logs[0].Text != "the search goes on with the query alone: llm: timeout" {
		t.Errorf("logs %v", logs)
	}
}
