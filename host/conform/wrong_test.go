package conform_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

const fixtures = "../../testdata/wasm"

// wrong are guests with one fault each, and the case that names it; a guest
// without a case is right.
var wrong = map[string]string{
	"good":                     "",
	"blank-fact":               "extract/facts",
	"blank-observation":        "distill/answer",
	"buffer-of-1mb":            "input/large",
	"divides-by-room":          "input/no-room",
	"divides-by-rows":          "input/empty",
	"divides-by-rows-less-one": "input/one",
	"edits-dropped-row":        "rows/once",
	"empty-item":               "items/content",
	"empty-query":              "enrich_query/text",
	"every-other-call":         "answer/same",
	"few-metadata":             "input/metadata",
	"foreign-state":            "provide/state",
	"format-type-of-two-lines": "format/output",
	"half-a-character":         "answer/decodes",
	"ids-are-unique":           "input/duplicates",
	"keep-and-score":           "filter/subset",
	"keep-null":                "answer/decodes",
	"key-of-two-lines":         "items/key",
	"label-in-capitals":        "answer/decodes",
	"label-missing":            "answer/decodes",
	"label-twice":              "answer/decodes",
	"lanes-differ":             "lanes/same",
	"leaks":                    "call/no-growth",
	"mailbox-only":             "json/extism",
	"memory-of-tools":          "items/source",
	"minor-zero-only":          "input/unknown-members",
	"more-than-top-k":          "retrieve/top-k",
	"needs-metadata":           "input/no-metadata",
	"negative-estimate":        "estimate_tokens/count",
	"no-escapes":               "input/control",
	"no-four-byte-text":        "input/scripts",
	"no-queries":               "transform_query/queries",
	"one-count":                "count_tokens/one-per-text",
	"order-partial":            "process/order",
	"order-twice":              "rerank/permutation",
	"reads-history":            "reads/declared",
	"reads-score":              "reads/declared",
	"rerank-drops":             "rerank/permutation",
	"retriever-drops":          "retrieve/only-adds",
	"settings-bad-default":     "settings/defaults",
	"settings-open":            "settings/unknown-refused",
	"settings-untyped":         "settings/wrong-type-refused",
	"table-of-1000":            "input/many",
	"time-too-late":            "answer/sound",
	"too-many-items":           "answer/limits",
	"undeclared-edit":          "writes/declared",
	"unknown-role":             "provide/roles",
	"works-once":               "call/again",
}

func TestEveryWrongGuestFailsItsCaseAlone(t *testing.T) {
	h := newHost(t)
	files, err := filepath.Glob(filepath.Join(fixtures, "wrong", "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".wasm")
		want, known := wrong[name]
		if !known {
			t.Errorf("%s has no entry in the table", name)
		}
		t.Run(name, func(t *testing.T) {
			manifest, err := os.ReadFile(strings.TrimSuffix(file, ".wasm") + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			wasm, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			spec, err := spec.Read(name, wasm, manifest)
			if err != nil {
				t.Fatal(err)
			}
			checkCases(t, h, spec, want, true)
		})
	}
	if len(files) != len(wrong) {
		t.Errorf("%d fixtures, the table has %d", len(files), len(wrong))
	}
}

// checkCases puts a guest through the kit and wants the one case to fail, or
// none. Long cases run beside the others, or not.
func checkCases(t *testing.T, h *host.Host, spec *spec.Spec, want string, beside bool) {
	t.Helper()
	limit := time.Minute // calls that end by themselves do so on a busy machine too
	if spec.Manifest.Name == "spin-forever" {
		limit = time.Second
	}
	cfg := host.PluginConfig{Limits: host.Limits{Timeout: limit, InitTimeout: limit}}
	r, err := conformance.Run(t.Context(), conform.New(h, spec, cfg), conformance.Options{Short: true, Beside: beside})
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{}
	if want != "" {
		wanted = []string{want}
	}
	if got := r.FailedCases(); !slices.Equal(got, wanted) {
		t.Errorf("fails %q, want %q\n%s", got, wanted, failures(r))
	}
	for _, x := range r.Results {
		if x.Verdict == conformance.Fail && (x.Rule == "" || x.Detail == "" || x.Remedy == "") {
			t.Errorf("%s says too little: %+v", x.Case, x)
		}
	}
}

func failures(r *conformance.Report) string {
	failed := slices.DeleteFunc(slices.Clone(r.Results), func(x conformance.Result) bool { return x.Verdict != conformance.Fail })
	b, _ := json.MarshalIndent(failed, "", " ") // plain data
	return string(b)
}

func newHost(t *testing.T) *host.Host {
	t.Helper()
	h, err := host.New(host.Config{CacheDir: testbuild.CacheDir(t), Portable: os.Getenv("ANCHOR_PORTABLE") != ""})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.WithoutCancel(t.Context())) }) // a failure would show in the tests of host
	return h
}

// spotted are some fixtures of the host's own tests, with the case that names
// what they do.
var spotted = map[string]string{
	"add-item": "", "no-change": "", "one-page": "", "writes-table": "",
	"add-two":                    "retrieve/top-k",
	"batch-invalid-utf8":         "answer/utf8",
	"batch-output-4gib":          "batch/mailbox",
	"batch-output-out-of-bounds": "batch/mailbox",
	"empty-output":               "answer/decodes",
	"exit":                       "call/answers",
	"grow-each-call":             "call/no-growth",
	"guest-error":                "call/answers",
	"http-ungranted":             "call/permitted",
	"init-fails":                 "load/starts",
	"invalid-json":               "answer/decodes",
	"invalid-utf8":               "answer/utf8",
	"json-trailing":              "answer/decodes",
	"json-unknown-field":         "answer/decodes",
	"keep-first":                 "input/empty",
	"kv-ungranted":               "call/permitted",
	"mailbox-too-small":          "batch/mailbox",
	"memory-hog":                 "call/answers",
	"not-granted":                "filter/subset",
	"order-incomplete":           "rerank/permutation",
	"output-too-large":           "answer/size",
	"priority-above-grant":       "priority/granted",
	"recurse-forever":            "call/answers",
	"row-missing":                "rows/exist",
	"row-twice":                  "rows/once",
	"score-out-of-range":         "scores/range",
	"source-system":              "items/source",
	"spin-forever":               "call/answers",
	"trap":                       "call/answers",
}

func TestFixturesOfTheHost(t *testing.T) {
	h := newHost(t)
	for name, want := range spotted {
		t.Run(name, func(t *testing.T) {
			spec, err := spec.ReadFile(filepath.Join(fixtures, name, "plugin.wasm"))
			if err != nil {
				t.Fatal(err)
			}
			checkCases(t, h, spec, want, false)
		})
	}
}
