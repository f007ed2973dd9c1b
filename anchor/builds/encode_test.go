package builds

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// A record is what encoding/json writes of its detail, without escapes for HTML outside of items.
func TestDetailsAreWrittenAsTheirType(t *testing.T) {
	ok := build("x", "t", start, 5, 500)
	ok.Request = json.RawMessage("{\"query\": \"a < b\",\n\"items\": []}")
	ok.Options = &Options{User: "<u>", Skip: []string{"s"}}
	failed := build("y", "t", start, 5, 500)
	failed.Result, failed.Failure = nil, &pipeline.BuildError{Err: errors.New("1 < 2"), Step: "s", Diagnostics: ok.Result.Diagnostics}
	for _, b := range []*Build{ok, failed} {
		for _, content := range []bool{true, false} {
			for _, leave := range []string{"", "traces", "items"} {
				b.Content = content
				got, err := b.detail(leave)
				if err != nil {
					t.Fatal(err)
				}
				var d Detail
				if err := json.Unmarshal(got, &d); err != nil {
					t.Fatalf("%s: %v", got, err)
				}
				if want := marshalled(t, d); !bytes.Equal(got, want) {
					t.Errorf("%s\nwant\n%s", got, want)
				}
				if d.LeftOut != leave || (d.Request != nil) != (content && leave != "items") {
					t.Errorf("content %v: left out %q, request %s", content, d.LeftOut, d.Request)
				}
			}
		}
	}
	ok.Content, ok.Request = true, json.RawMessage(`{"query": `)
	if _, err := ok.detail(""); err == nil {
		t.Error("a request that is no JSON is written")
	}
	ok.Request, ok.Result.Window.Items = nil, []core.Item{{Score: 1, Metadata: map[string]any{"x": func() {}}}}
	if _, err := ok.detail(""); err == nil {
		t.Error("an item that JSON cannot state is written")
	}
}

func marshalled(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
