package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/authoring"
	"github.com/anchor-host/anchor-host/pipeline"
)

// languagesVar names the languages whose toolchains a test run may use.
const languagesVar = "ANCHOR_LANGUAGES"

// helper is a plugin that uses all of a helper library, in one lane.
type helper struct {
	*host.Plugin
	logs *bytes.Buffer
}

// eachHelper runs a test for each helper library that is tested here, in each
// lane it has.
func eachHelper(t *testing.T, test func(t *testing.T, language string, load func(t *testing.T, cfg host.PluginConfig) (*helper, error))) {
	t.Helper()
	named := os.Getenv(languagesVar)
	for _, language := range []string{"ts", "js"} {
		if named != "all" && !slices.Contains(strings.Split(named, ","), language) {
			t.Run(language, func(t *testing.T) { t.Skipf("set %s=%s to use its toolchain", languagesVar, language) })
			continue
		}
		spec := buildHelper(t, language)
		for _, lane := range operation(spec, abi.OpProcess).Lanes {
			t.Run(language+"/"+string(lane), func(t *testing.T) {
				test(t, language, func(t *testing.T, cfg host.PluginConfig) (*helper, error) {
					t.Helper()
					cfg.Lane = lane
					return loadHelper(t, spec, cfg)
				})
			})
		}
	}
}

func operation(plugin *spec.Spec, op abi.Operation) spec.Operation {
	return plugin.Operations[slices.IndexFunc(plugin.Operations, func(o spec.Operation) bool { return o.Operation == op })]
}

func loadHelper(t *testing.T, spec *spec.Spec, cfg host.PluginConfig) (*helper, error) {
	t.Helper()
	logs := new(bytes.Buffer)
	h, err := host.New(host.Config{Logger: slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	cfg.Limits.Timeout = timeout
	p, err := h.Load(t.Context(), spec, cfg)
	return &helper{p, logs}, err
}

// helperSpecs are the helpers built so far in this run, by language.
var helperSpecs = map[string]*spec.Spec{}

func buildHelper(t *testing.T, language string) *spec.Spec {
	t.Helper()
	if spec := helperSpecs[language]; spec != nil {
		return spec
	}
	bin, err := filepath.Abs("../../../build/_toolchains/bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	built, err := authoring.Build(t.Context(), authoring.BuildOptions{
		Dir: filepath.Join("testdata", language), Output: filepath.Join(t.TempDir(), "helper.wasm"), Messages: os.Stderr,
	})
	if errors.Is(err, authoring.ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	helperSpecs[language] = built.Spec
	return built.Spec
}

// run runs the process step of the helper.
func (h *helper) run(t *testing.T, settings map[string]any, items ...pipeline.Item) ([]pipeline.Item, error) {
	t.Helper()
	step, err := steps.New(h.Plugin, abi.OpProcess, steps.Options{Step: "s", Settings: settings, MaxPriority: 9})
	if err != nil {
		t.Fatal(err)
	}
	return step.Run(t.Context(), &pipeline.Query{
		Text: "which \"fox\"?\n😀", Metadata: map[string]any{"user": "u1"},
	}, items)
}

var created = time.Date(2024, 2, 29, 23, 59, 58, 0, time.FixedZone("", -5400))

func rows() []pipeline.Item {
	return []pipeline.Item{
		{ID: "a", Content: "tab\t quote\" é 😀 \u0000", Source: pipeline.SourceRetrieval, Score: 0.5, Priority: 4, TokenCount: 12,
			CreatedAt: created, Metadata: map[string]any{"kind": "k\n", "page": int64(7), "weight": 0.1, "fresh": true}},
		{ID: "b", Content: "dropped", Source: pipeline.SourceRetrieval, Priority: 5},
		{ID: "c", Source: pipeline.SourceUser, Score: 1, Priority: 5, Metadata: map[string]any{"page": "7", "other": int64(1)}},
	}
}

func TestHelpersReadAndWriteEverything(t *testing.T) {
	eachHelper(t, func(t *testing.T, _ string, load func(*testing.T, host.PluginConfig) (*helper, error)) {
		h, err := load(t, host.PluginConfig{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.run(t, map[string]any{"list": []any{map[string]any{"a b": 2.5}, 1}}, rows()...)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, it := range got {
			fmt.Fprintf(&b, "%q %s %v %d %v\n", it.Content, it.Source, it.Score, it.Priority, it.Metadata)
		}
		nanos := created.UnixNano()
		metadata := "map[a:\ufffd b:true f:0.1 i:-7 list:[1 map[a:b]] n:<nil> z:last]"
		want := fmt.Sprintf(`"another" retrieval 0 5 map[]
"c||user|5|0|%d|null|-1.0|-1.0|stale|which \"fox\"?\n😀|u1|0|full|2|2.5" user 0.25 9 %[3]s
"a|tab\t quote\" é 😀 \x00|retrieval|4|12|%[2]d|k\n|7.0|0.1|fresh|which \"fox\"?\n😀|u1|0|full|2|2.5" retrieval 0.25 9 %[3]s
"a new item" retrieval 0.75 3 map[from:here]
`, int64(math.MinInt64), nanos, metadata)
		if b.String() != want {
			t.Errorf("got\n%swant\n%s", b.String(), want)
		}
	})
}

// odd are metadata values that a lane could lose.
func odd() map[string]any {
	values := map[string]any{
		"": "no name", "tiny": 5e-324, "huge": math.MaxFloat64, "half": 1e23, "third": -1.0 / 3, "list": []any{int64(1), nil, "x\"y"},
		"text": "\u2028é😀", "none": nil, "yes": true,
	}
	values["big"], values["least"], values["whole"] = int64(math.MaxInt64), int64(math.MinInt64), 2.0
	return values
}

func TestHelpersCopyMetadataAndTimes(t *testing.T) {
	eachHelper(t, func(t *testing.T, _ string, load func(*testing.T, host.PluginConfig) (*helper, error)) {
		h, err := load(t, host.PluginConfig{})
		if err != nil {
			t.Fatal(err)
		}
		var in []pipeline.Item
		for _, at := range []time.Time{created, time.Unix(-1, 999_000_000), time.Date(1700, 2, 28, 0, 0, 0, 0, time.UTC), {}} {
			in = append(in, pipeline.Item{ID: "x", Content: "x", Source: pipeline.SourceRetrieval, Priority: 5, CreatedAt: at, Metadata: odd()})
		}
		got, err := h.run(t, map[string]any{"do": "copy"}, slices.Clone(in)...)
		if err != nil || len(got) != 2*len(in) {
			t.Fatalf("%d items, %v; want %d", len(got), err, 2*len(in))
		}
		want := odd()
		want["more"] = "than before"
		for i := range in {
			if !reflect.DeepEqual(got[i].Metadata, want) {
				t.Errorf("metadata\n%#v, want\n%#v", got[i].Metadata, want)
			}
			if at := got[len(in)+i].CreatedAt; !at.Equal(in[i].CreatedAt) && !in[i].CreatedAt.IsZero() {
				t.Errorf("time %v came back as %v", in[i].CreatedAt, at)
			}
		}
	})
}

// Scores cross the JSON lane as decimal numbers and must come back to the bit.
func TestHelpersKeepScoresToTheBit(t *testing.T) {
	eachHelper(t, func(t *testing.T, _ string, load func(*testing.T, host.PluginConfig) (*helper, error)) {
		h, err := load(t, host.PluginConfig{})
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		items := make([]pipeline.Item, 2000)
		for i := range items {
			score := random.Float64()
			if i%4 == 0 {
				score = math.Ldexp(score, -random.IntN(80))
			}
			items[i] = pipeline.Item{ID: fmt.Sprint(i), Content: "x", Source: pipeline.SourceRetrieval, Score: score, Priority: 5}
		}
		got, err := h.run(t, map[string]any{"do": "scores"}, slices.Clone(items)...)
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for i, it := range got {
			if it.Score != items[i].Score {
				if wrong++; wrong <= 5 {
					t.Errorf("score %v came back as %v", items[i].Score, it.Score)
				}
			}
		}
		if wrong > 0 || len(got) != len(items) {
			t.Errorf("%d of %d scores are wrong", wrong, len(items))
		}
	})
}

func TestHelpersFailAndGoOn(t *testing.T) {
	thrown := map[string]string{"ts": "trap", "js": "guest_error"} // AssemblyScript has no exceptions
	eachHelper(t, func(t *testing.T, language string, load func(*testing.T, host.PluginConfig) (*helper, error)) {
		h, err := load(t, host.PluginConfig{Config: map[string]string{"region": "eu-ü"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ do, reason, text string }{
			{"fail", "guest_error", `wrong: 😀 "quoted"`},
			{"nothing", "", ""},
			{"throw", thrown[language], ""},
			{"row", thrown[language], ""},
			{"log", "guest_error", "eu-ü none"},
			{"drop", "", ""},
		} {
			items, err := h.run(t, map[string]any{"do": tt.do}, rows()...)
			var failure *host.PluginError
			switch {
			case tt.reason == "":
				if want := map[string]int{"nothing": 3, "drop": 2}[tt.do]; err != nil || len(items) != want {
					t.Errorf("%s: %d items, %v; want %d", tt.do, len(items), err, want)
				}
			case !errors.As(err, &failure) || failure.Reason() != tt.reason || !strings.Contains(err.Error(), tt.text):
				t.Errorf("%s: %v, want %s with %q", tt.do, err, tt.reason, tt.text)
			}
		}
		for _, want := range []string{"a debug line", "an info line", "a warning", "an error ü", "thrown"} {
			if !strings.Contains(h.logs.String(), want) {
				t.Errorf("%q is not in the log:\n%s", want, h.logs)
			}
		}
	})
}

func TestHelpersServeDocuments(t *testing.T) {
	eachHelper(t, func(t *testing.T, _ string, load func(*testing.T, host.PluginConfig) (*helper, error)) {
		h, err := load(t, host.PluginConfig{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := steps.Classifier(h.Plugin, steps.Options{})
		if err != nil {
			t.Fatal(err)
		}
		text := "\"ä\" \\ \u0001 😀"
		if label, err := c.Classify(t.Context(), &pipeline.Query{Text: text}); err != nil || label != text {
			t.Errorf("label %q, %v; want %q", label, err, text)
		}
		if _, err := load(t, host.PluginConfig{Settings: map[string]any{"fail": "no index"}}); err == nil || !strings.Contains(err.Error(), "no index") {
			t.Errorf("load with an init that fails: %v", err)
		}
	})
}
