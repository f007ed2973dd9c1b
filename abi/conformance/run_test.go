package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
)

func run(t *testing.T, f *fake, o conformance.Options) *conformance.Report {
	t.Helper()
	o.Short = true
	r, err := conformance.Run(t.Context(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCases(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range conformance.Cases() {
		if seen[c.ID] || !strings.Contains(c.ID, "/") || !strings.HasSuffix(c.Rule, ".") || c.Remedy == "" {
			t.Errorf("case %+v: want an id of its own, a rule of one sentence and a remedy", c)
		}
		seen[c.ID] = true
		for _, op := range c.Operations {
			if !op.Valid() {
				t.Errorf("%s: operation %q", c.ID, op)
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("%d cases", len(seen))
	}
}

func TestFaultsOfHostAndStart(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*fake)
		want  string
	}{
		"good":         {func(*fake) {}, ""},
		"second start": {func(f *fake) { f.secondStart = true }, "init/same"},
		"deaf":         {func(f *fake) { f.deaf = true }, "call/cancelled"},
		"escapes":      {func(f *fake) { f.escapes = true }, "lanes/same"},
		"boxed only":   {func(f *fake) { f.boxedOnly = true }, "json/extism"},
		"plain error":  {func(f *fake) { f.fail = errors.New("broken") }, "call/answers"},
		"denied":       {func(f *fake) { f.fail = reasonError("denied") }, "call/permitted"},
		"unused":       {func(f *fake) { f.unused = "exports a without b" }, "lanes/used"},
		"remembers":    {func(f *fake) { f.secondStart, f.remembers = true, true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, o := newFake(), conformance.Options{}
			if tt.spoil(f); f.deaf {
				o.Grace = deafGrace
			}
			r := run(t, f, o)
			if got := strings.Join(r.FailedCases(), " "); got != tt.want || r.OK() != (tt.want == "") {
				t.Errorf("fails %q, want %q", got, tt.want)
			}
			if n := r.Passed + r.Failed + r.Skipped; n != len(r.Results) {
				t.Errorf("%d results, %d counted", len(r.Results), n)
			}
		})
	}
}

type reasonError string

func (e reasonError) Error() string  { return "the call failed: " + string(e) }
func (e reasonError) Reason() string { return string(e) }

func TestRunIsNarrowedAndCancelled(t *testing.T) {
	r := run(t, newFake(), conformance.Options{Lanes: []string{conformance.Batch}})
	for _, x := range r.Results {
		if x.Lane == conformance.JSON || x.Case == "lanes/same" {
			t.Errorf("%s ran in lane %q", x.Case, x.Lane)
		}
	}
	for want, o := range map[string]conformance.Options{
		`no operation "rerank"`: {Operations: []abi.Operation{abi.OpRerank}},
		`lane "fast" (want`:     {Lanes: []string{"fast"}},
	} {
		if _, err := conformance.Run(t.Context(), newFake(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := conformance.Run(ctx, newFake(), conformance.Options{OnCase: func(id string, _ abi.Operation, _ string) {
		if id == "input/one" {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
	if _, err := conformance.Run(t.Context(), &fake{}, conformance.Options{}); err == nil {
		t.Error("a foreign module was tested")
	}
}

// Beside the long cases others run, and the report is the same. Where there is no
// second guest, nothing runs beside.
func TestBeside(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*fake)
		meets bool
	}{
		"good":              {func(*fake) {}, true},
		"escapes":           {func(f *fake) { f.escapes = true }, true},
		"large is refused":  {func(f *fake) { f.refuseLarge = true }, true},
		"always fails":      {func(f *fake) { f.fail = errors.New("broken") }, false},
		"no second guest":   {func(f *fake) { f.full = 2; delete(f.manifest.Operations, abi.OpInit) }, false},
		"the second starts": {func(f *fake) { f.secondStart = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := func(beside bool) (list []string, met bool) {
				f := newFake()
				if c.spoil(f); beside && c.meets {
					f.meeting = make(chan struct{})
				}
				r := run(t, f, conformance.Options{Beside: beside})
				for _, x := range r.Results {
					list = append(list, strings.Join([]string{x.Case, x.Lane, string(x.Verdict), x.Detail, x.Rule, x.Remedy}, "|"))
				}
				return append(list, fmt.Sprint(r.Passed, r.Failed, r.Skipped, len(r.Costs))), f.met.Load()
			}
			alone, _ := lines(false)
			beside, met := lines(true)
			if !slices.Equal(alone, beside) {
				t.Errorf("alone:\n%s\nbeside:\n%s", strings.Join(alone, "\n"), strings.Join(beside, "\n"))
			}
			if met != c.meets {
				t.Errorf("two guests were called at the same time: %t, want %t", met, c.meets)
			}
		})
	}
}

func TestSameSeedSameReport(t *testing.T) {
	verdicts := func(seed uint64) (list []string) {
		for _, x := range run(t, newFake(), conformance.Options{Seed: seed}).Results {
			list = append(list, x.Case+x.Lane+string(x.Verdict)+x.Detail)
		}
		return list
	}
	if a, b := verdicts(7), verdicts(7); !slices.Equal(a, b) {
		t.Errorf("%q\n%q", a, b)
	}
}

// A retriever that ignores top_k shows when it is asked for what it has.
func TestRetrieverThatIgnoresTopK(t *testing.T) {
	for name, tt := range map[string]struct {
		target conformance.Target
		want   conformance.Verdict
	}{
		"keeps to it": {newLibrary(false), conformance.Pass},
		"ignores it":  {newLibrary(true), conformance.Fail},
		"has nothing": {&library{fake: newLibrary(false).fake}, conformance.Skip},
	} {
		r, err := conformance.Run(t.Context(), tt.target, conformance.Options{Short: true})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Results, func(x conformance.Result) bool { return x.Case == "retrieve/top-k" })
		if i < 0 || r.Results[i].Verdict != tt.want {
			t.Errorf("%s: %+v, want %s", name, r.Results[max(i, 0)], tt.want)
		}
	}
}

const ownCases = `[
  {"name": "keeps foxes", "items": ["a fox", {"content": "a dog", "score": 0.5}], "expect": {"keep": [0], "texts": ["a fox"]}},
  {"name": "keeps all", "operation": "filter", "items": ["fox"], "expect": {"no_change": true, "order": [0], "scores": [0]}},
  {"name": "document", "request": {"query": {"query_str": "q"}, "items": [{"content": "fox"}, {"content": "x"}]}, "expect": {"output": {"keep": [0]}}},
  {"name": "settings", "settings": {"x": 1}, "expect": {"error": "no settings"}},
  {"name": "settings of the request", "request": {"items": [{"content": "fox"}], "settings": {"x": 1}}, "expect": {"error": "no settings"}},
  {"name": "wrong rows", "items": ["fox", "dog"], "expect": {"keep": [0, 1]}},
  {"name": "wrong texts", "items": ["fox", "dog"], "expect": {"texts": ["dog"]}},
  {"name": "no error", "items": ["fox"], "expect": {"error": "nothing"}},
  {"name": "change", "items": ["dog"], "expect": {"no_change": true}},
  {"name": "other operation", "operation": "rerank", "expect": {"no_change": true}}
]`

func TestOwnCases(t *testing.T) {
	own, err := conformance.ParseOwnCases("own.json", []byte(ownCases))
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, newFake(), conformance.Options{Own: own})
	want := []string{"own/change", "own/no error", "own/other operation", "own/wrong rows", "own/wrong texts"}
	if got := r.FailedCases(); !slices.Equal(got, want) {
		t.Errorf("fails %q, want %q", got, want)
	}
	lanes := 0
	for _, x := range r.Results {
		if x.Case != "own/wrong rows" {
			continue
		}
		lanes++
		if x.Detail != "keep: expected [0,1], got [0]" || !strings.Contains(x.Remedy, "own.json") {
			t.Errorf("%+v", x)
		}
	}
	if lanes != 2 {
		t.Errorf("run in %d lanes", lanes)
	}
}

func TestMistakesInOwnCases(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                               "own.json: unexpected EOF",
		`{"expect": {"no_change": true}}`: "has no name",
		`{"name": "a", "settings": {}, "request": {"settings": {"x": 1}}, "expect": {"no_change": true}}`: "leave out one",
		`{"name": "a\nb"}`:            "a name is one line",
		`[]`:                          "no case",
		`{"name": "a", "expect": {}}`: "nothing is expected",
		`{"name": "a", "expext": {}}`: `unknown field "expext"`,
		`{"name": "a", "items": [{"text": "x"}], "expect": {"keep": []}}`:      `unknown field "text"`,
		`{"name": "a", "request": {}, "query": "q", "expect": {"keep": []}}`:   "request is the whole document",
		`{"name": "a", "expect": {"keep": []}} {}`:                             "more than one value",
		`[{"name": "a", "expect": {"keep": []}}, {"name": "b", "expect": {}}]`: `case "b"`,
	} {
		if _, err := conformance.ParseOwnCases("own.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

func FuzzParseOwnCases(f *testing.F) {
	f.Add([]byte(ownCases))
	f.Add([]byte(`{"name": "a", "items": ["x"], "expect": {"items": ["y", {"content": "z"}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		cases, err := conformance.ParseOwnCases("f", b)
		if (err == nil) == (cases == nil) && len(b) > 0 && string(b) != "[]" && string(b) != "null" {
			t.Fatalf("%d cases and error %v", len(cases), err)
		}
	})
}

func TestReportAsJSON(t *testing.T) {
	b, err := json.Marshal(run(t, newFake(), conformance.Options{Lanes: []string{conformance.Batch}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"plugin":"fake"`, `"case":"filter/subset","operation":"filter","lane":"batch","verdict":"pass"`, `"us_per_call"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s\nlacks %s", b, want)
		}
	}
}

func Example() {
	report, err := conformance.Run(context.Background(), newFake(), conformance.Options{Short: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Plugin, report.OK(), report.FailedCases())
	// Output: fake true []
}

// A guest that changes nothing in ordinary requests is noted, unless a case of its author has it change
// something.
func TestIdleGuestIsNoted(t *testing.T) {
	own, err := conformance.ParseOwnCases("own.json", []byte(`{"name": "x", "items": ["a zebra", "x"], "expect": {"keep": [1]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[int]conformance.Options{2: {}, 0: {Own: own}} {
		guest := newFake()
		guest.but = "zebra"
		r := run(t, guest, o)
		if len(r.FailedCases()) > 0 || len(r.Notes) != want {
			t.Errorf("failed %q, notes %q (want %d)", r.FailedCases(), r.Notes, want)
		}
	}
}

// A case of the author in which the guest changes something is what the note about idle guests asks for.
func TestOwnCasesEndTheNoteOfIdleGuests(t *testing.T) {
	own, err := conformance.ParseOwnCases("own.json", []byte(`[{"name": "a", "items": ["zebra", "fox"], "expect": {"keep": [1]}}]`))
	if err != nil {
		t.Fatal(err)
	}
	quiet := func() *fake {
		f := newFake()
		f.but = "zebra" // a word that no ordinary request has
		return f
	}
	idle, used := run(t, quiet(), conformance.Options{}), run(t, quiet(), conformance.Options{Own: own})
	notes := func(r *conformance.Report) string { return strings.Join(r.Notes, "\n") }
	if !strings.Contains(notes(idle), "was no change") || strings.Contains(notes(used), "was no change") {
		t.Errorf("without a case:\n%s\nwith one:\n%s", notes(idle), notes(used))
	}
}
