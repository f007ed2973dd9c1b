package agent

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// costOf returns how many bytes f allocates, and how long it takes.
func costOf(f func()) (bytes uint64, took time.Duration) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	f()
	took = time.Since(began)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, took
}

// nested is a message whose results of tools hold one another, n deep.
func nested(n int, kind string) string {
	return `{"role":"user","content":[` + strings.Repeat(`{"type":"`+kind+`","tool_use_id":"t","source":{"type":"content","content":[`, n) +
		strings.Repeat(`]},"content":[]}`, n) + `]}`
}

// The cost of reading a message is proportional to its size: a document from outside must not
// make the reader start again for each level.
func TestMessagesCostTheirSize(t *testing.T) {
	deep := strings.Repeat(`{"type":"tool_result","tool_use_id":"t","content":[`, 4000)
	for name, in := range map[string]string{
		"results":   `{"role":"user","content":[` + deep + strings.Repeat(`]}`, 4000) + `]}`,
		"documents": nested(3000, "document"),
		"parts":     `{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":"a"},`, 8000) + `{"type":"text","text":"b"}]}`,
	} {
		var texts int
		bytes, took := costOf(func() {
			var m pipeline.Message
			if err := json.Unmarshal([]byte(in), &m); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			m.Text()
			eachText(&m, func(text string) { texts += len(text) })
		})
		if most := uint64(400 * len(in)); bytes > most || took > time.Minute {
			t.Errorf("%s: %d bytes of JSON cost %d bytes, want %d at most, and %v", name, len(in), bytes, most, took)
		}
		if name != "parts" && texts < len(in)/2 {
			t.Errorf("%s: %d of %d bytes are counted", name, texts, len(in))
		}
	}
}

// What a message says costs tokens, in whatever member an API takes it: a list within its
// budget must not hold a megabyte of text.
func TestAllTextsOfPartsAreCounted(t *testing.T) {
	const said = "all of this is said to the model"
	for _, part := range []string{
		`{"type":"text","text":"%s","Text":""}`,
		`{"type":"text","Text":"%s"}`,
		`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"%s"}}`,
		`{"type":"document","source":{"type":"content","content":"%s"}}`,
		`{"type":"document","source":{"type":"content","content":[{"type":"text","text":"%s"}]}}`,
		`{"type":"document","title":"%s","source":{"type":"url","url":"u"}}`,
		`{"type":"document","document":{"data":"%s"}}`,
		`{"type":"tool_result","tool_use_id":"t","content":"%s"}`,
		`{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_result","content":"%s"}]}`,
		`{"type":"tool_result","tool_use_id":"t","content":[{"type":"document","source":{"type":"text","data":"%s"}}]}`,
		`{"type":"tool_result","tool_use_id":"t","content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"%s"}]}}]}`,
	} {
		var counted strings.Builder
		m := fromJSON(pipeline.RoleUser, `"content":`+"["+strings.Replace(part, "%s", said, 1)+"]")
		if eachText(&m, func(text string) { counted.WriteString(text) }); !strings.Contains(counted.String(), said) {
			t.Errorf("%s: %q is counted", part, counted.String())
		}
	}
}

// A result of Gemini is a JSON object. It is counted once, and if it was cut, as what is left.
func TestResultsOfGeminiAreCountedOnce(t *testing.T) {
	counter, err := NewCounter(CounterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Repeat("word ", 100)
	count := func(cut string, results ...string) []int {
		var msgs []pipeline.Message
		for _, r := range results {
			msgs = append(msgs, read(`{"role":"user","parts":[{"functionResponse":{"name":"f","response":`+r+`}}]}`)...)
			if cut != "" {
				msgs[len(msgs)-1].Parts[0].Parts[0].Text = cut
			}
		}
		counts, err := counter.Count(t.Context(), msgs)
		if err != nil {
			t.Fatal(err)
		}
		return counts
	}
	same := []string{`{"output":"` + words + `"}`, `{"o\u0075tput":"` + words + `"}`}
	if n := count("", append(same, `{"found":"`+words+`"}`)...); n[0] != n[1] || n[2] > n[0]+10 {
		t.Errorf("tokens %v", n)
	}
	if n := count("cut", append(same, `{"found":"`+words+`"}`)...); n[0] > 10 || n[1] != n[0] || n[2] != n[0] {
		t.Errorf("cut results: tokens %v", n)
	}
}
