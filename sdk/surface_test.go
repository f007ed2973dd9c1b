package sdk_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/authoring"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
	"github.com/anchor-host/anchor-host/pipeline"
)

func TestMain(m *testing.M) {
	testbuild.SetConfigDir()
	os.Exit(m.Run())
}

// surfaceItems are items with everything that a lane could lose.
func surfaceItems() []pipeline.Item {
	at := time.Date(2025, 3, 1, 12, 30, 0, 123456789, time.UTC)
	return []pipeline.Item{
		{ID: "a", Content: "one \"quoted\" \\ \n\t\u0001 text", Source: pipeline.SourceRetrieval, Score: 1.0 / 3, Priority: 5, TokenCount: 4, CreatedAt: at,
			Metadata: map[string]any{"b": true, "z": nil, "n": int64(-7), "big": int64(math.MaxInt64), "least": int64(math.MinInt64), "s": "é😀\u2028"}},
		{ID: "b", Content: "", Source: pipeline.SourceTool, Score: 0, Priority: 1, CreatedAt: time.Unix(-1, 999999999).UTC(),
			Metadata: map[string]any{"f": 0.1, "whole": 2.0, "tiny": 5e-324, "huge": math.MaxFloat64, "odd": 1e23, "third": -1.0 / 3, "s": ""}},
		{ID: "gone", Content: "x", Source: pipeline.SourceRetrieval, Score: 0.5, Priority: 5, Metadata: map[string]any{"drop": false}},
		{ID: "c\u00e9", Content: "日本語", Source: pipeline.SourceRetrieval, Score: 0.7000000000000001, Priority: 10,
			Metadata: map[string]any{"list": []any{int64(1), 2.5, "x\"y", nil, map[string]any{"k": []any{}}}, "a": "first key", "": "no name"}},
		{ID: "d", Content: "plain", Source: pipeline.SourceRetrieval, Score: 1, Priority: 2},
	}
}

// surfaceWant are the items that come out, by the same rules in Go.
func surfaceWant(factor float64) []pipeline.Item {
	in := surfaceItems()
	out := []pipeline.Item{{ID: "surface:k", Content: "which \"fox\"?\nend", Source: pipeline.SourceRetrieval, Score: 0.25, Priority: 3, CreatedAt: in[0].CreatedAt,
		Metadata: map[string]any{"left": int64(990), "tokens": int64(4), "tenth": 0.1}}}
	for i := len(in) - 1; i >= 0; i-- {
		it := in[i]
		if _, drop := it.Metadata["drop"]; drop {
			continue
		}
		m := map[string]any{"a row": int64(i), "half": it.Score / 2, "first": i == 0, "was": it.Content}
		for k, v := range it.Metadata {
			m[k] = v
		}
		it.Content = fmt.Sprintf("%s %s/%s", it.ID, it.Content, it.Source)
		it.Metadata, it.Priority, it.Score = m, 11-it.Priority, (1-it.Score)*factor
		out = append(out, it)
	}
	return out
}

// show is everything of items but token counts, which are counted anew, with
// numbers to the bit.
func show(t *testing.T, items []pipeline.Item) string {
	t.Helper()
	var b strings.Builder
	for _, it := range items {
		m, err := json.Marshal(it.Metadata)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%q %q %s %x %d %s %s %T\n", it.ID, it.Content, it.Source, it.Score, it.Priority, it.CreatedAt.UTC().Format(time.RFC3339Nano), m, it.Metadata["whole"])
	}
	return b.String()
}

// buildGuest builds a guest of a language; without its toolchain the test is
// skipped, unless ANCHOR_LANGUAGES names the language or is "all".
func buildGuest(t *testing.T, guest, language string) *spec.Spec {
	t.Helper()
	folder := language
	if language == "tinygo" { // the source is that of Go
		folder = "go"
	}
	return buildProject(t, filepath.Join("testdata", guest, folder), guest, language)
}

// buildProject is buildGuest for the project in a folder.
func buildProject(t *testing.T, dir, guest, language string) *spec.Spec {
	t.Helper()
	out := filepath.Join(t.TempDir(), guest+".wasm")
	built, err := authoring.Build(t.Context(), authoring.BuildOptions{Dir: dir, Language: language, Output: out})
	named := strings.Split(os.Getenv("ANCHOR_LANGUAGES"), ",")
	wanted := slices.Contains(named, cmp.Or(language, guest)) || slices.Contains(named, "all")
	if errors.Is(err, authoring.ErrMissing) && !wanted {
		t.Skipf("NOT TESTED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return built.Spec
}

var helperLanguages = []string{"c", "rust", "zig"}

// newHost makes a host that counts words, has fakes of its services and logs to w, if there is one.
func newHost(t *testing.T, w *bytes.Buffer) *host.Host {
	t.Helper()
	cfg := host.Config{CacheDir: testbuild.CacheDir(t), Tokenizer: pipeline.WordTokenizer(), Services: service.Services{Embedder: fakeServices{}, Searcher: fakeServices{}, Models: fakeServices{}}}
	if w != nil {
		cfg.Logger = slog.New(slog.NewTextHandler(w, nil))
	}
	h, err := host.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// TestDocuments runs init and an operation of the JSON lane alone, twice, with
// what the host does for a plugin.
func TestDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("runs compilers")
	}
	var log bytes.Buffer
	h := newHost(t, &log)
	for _, language := range helperLanguages {
		t.Run(language, func(t *testing.T) {
			log.Reset()
			p, err := h.Load(t.Context(), buildGuest(t, "documents", language), host.PluginConfig{
				Settings: map[string]any{"prefix": "<é\n"}, Config: map[string]string{"mode": "fast"},
				Grants: host.Grants{KV: &host.KVGrant{}, Services: []string{"count_tokens"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			c, err := steps.Classifier(p, steps.Options{Settings: map[string]any{"suffix": "\">"}})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				label, err := c.Classify(t.Context(), &pipeline.Query{Text: "three small words"})
				if want := "<é\nfast:three small words:3\">"; err != nil || label != want {
					t.Errorf("label %q, %v; want %q", label, err, want)
				}
			}
			if !strings.Contains(log.String(), `msg="\">"`) {
				t.Errorf("log %s", &log)
			}
		})
	}
}

// TestSurface holds every column and every kind of change that the helper
// libraries offer to the same in Go, in both lanes.
func TestSurface(t *testing.T) {
	if testing.Short() {
		t.Skip("runs compilers")
	}
	h := newHost(t, nil)
	for _, language := range helperLanguages {
		t.Run(language, func(t *testing.T) {
			spec := buildGuest(t, "surface", language)
			for _, lane := range []host.Lane{host.LaneJSON, host.LaneBatch} {
				p, err := h.Load(t.Context(), spec, host.PluginConfig{Lane: lane})
				if err != nil {
					t.Fatal(err)
				}
				checkSurface(t, lane, p)
			}
		})
	}
}

// TestBatchHeader holds the copy of the batch reader that projects get to the one
// that is tested.
func TestBatchHeader(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("..", "abi", "c", "anchor_batch.h"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("pdk-c", "anchor_batch.h"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("pdk-c/anchor_batch.h differs from abi/c/anchor_batch.h (copy it)")
	}
}

func checkSurface(t *testing.T, lane host.Lane, p *host.Plugin) {
	t.Helper()
	run := func(settings map[string]any) ([]pipeline.Item, error) {
		step, err := steps.New(p, abi.OpProcess, steps.Options{Settings: settings, MaxPriority: 10})
		if err != nil {
			t.Fatal(err)
		}
		return between(t, step)
	}
	items, err := run(map[string]any{"suffix": "end", "factor": 0.625, "loud": true})
	if err != nil {
		t.Fatalf("%s: %v", lane, err)
	}
	if got, want := show(t, items), show(t, surfaceWant(0.625)); got != want {
		t.Errorf("%s:\n got %s\nwant %s", lane, got, want)
	}
	var failed *host.PluginError
	if _, err := run(nil); !errors.As(err, &failed) || failed.Reason() != string(abi.ReasonGuestError) || !strings.Contains(err.Error(), "not loud") {
		t.Errorf("%s: error %v, want the guest's", lane, err)
	}
}

// between runs a step in a build, so that it learns how many tokens are left, and
// returns what comes out of it.
func between(t *testing.T, step pipeline.Step) (out []pipeline.Item, err error) {
	t.Helper()
	first := pipeline.StepFunc(func(context.Context, *pipeline.Query, []pipeline.Item) ([]pipeline.Item, error) {
		return surfaceItems(), nil
	})
	tested := pipeline.StepFunc(func(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
		out, err = step.Run(ctx, q, items)
		return nil, nil
	})
	b, newErr := pipeline.New(pipeline.Config{MaxTokens: 1000, Tokenizer: pipeline.WordTokenizer(),
		Steps: []pipeline.StepConfig{{Name: "first", Priority: 1, Step: first}, {Name: "tested", Priority: 2, Step: tested}}})
	if newErr != nil {
		t.Fatal(newErr)
	}
	if _, buildErr := b.Build(t.Context(), pipeline.Query{Text: `which "fox"?`}); buildErr != nil {
		t.Fatal(buildErr)
	}
	return out, err
}
