package host_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// maxOldGuest bounds what is committed, in bytes.
const maxOldGuest = 64 << 10

// oldGuests are the folders of testdata/oldguests: <language>-<plugin>.
func oldGuests(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("..", "testdata", "oldguests", "*", "plugin.wasm"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("old guests: %v, %v", dirs, err)
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	return dirs
}

// TestOldGuests runs modules as they were built when version 1 began. They load
// and answer the same for as long as the version lives, each call from the state
// after init, so a failure here is never a reason to build them anew.
func TestOldGuests(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, dir := range oldGuests(t) {
		name := filepath.Base(dir)
		_, plugin, _ := strings.Cut(name, "-")
		spec := oldGuest(t, dir)
		for _, lane := range spec.Operations[0].Lanes {
			t.Run(name+"/"+string(lane), func(t *testing.T) {
				p, err := h.Load(t.Context(), spec, host.PluginConfig{Lane: lane})
				if err != nil {
					t.Fatal(err)
				}
				if p.State() != host.StateReset {
					t.Errorf("state %q, notes %q", p.State(), p.Notes())
				}
				for _, c := range languageCases(t, plugin) {
					if got, want := languageAnswer(t, p, &c), languageWant(&c); got != want {
						t.Errorf("%s:\n got %s\nwant %s", c.Name, got, want)
					}
				}
			})
		}
	}
}

// oldGuest reads a committed guest and checks that it is the one of its digest.
func oldGuest(t *testing.T, dir string) *spec.Spec {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	wasm := read("plugin.wasm")
	sum := sha256.Sum256(wasm)
	if got := hex.EncodeToString(sum[:]); !strings.HasPrefix(string(read("plugin.wasm.sha256")), got) {
		t.Errorf("%s: plugin.wasm has the digest %s, not the one beside it", dir, got)
	}
	if len(wasm) > maxOldGuest {
		t.Errorf("%s: plugin.wasm has %d bytes (at most %d)", dir, len(wasm), maxOldGuest)
	}
	spec, err := spec.Read("", wasm, read("plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// languageAnswer runs a case and returns the rows and scores that come out.
func languageAnswer(t *testing.T, p *host.Plugin, c *languageCase) string {
	t.Helper()
	op := abi.OpFilter
	if c.Order != nil {
		op = abi.OpRerank
	}
	var settings map[string]any
	if err := json.Unmarshal(c.Request.Settings, &settings); err != nil {
		t.Fatal(err)
	}
	step, err := newStep(p, op, host.OperationOptions{Settings: settings, TopK: c.Request.TopK})
	if err != nil {
		t.Fatal(err)
	}
	items := make([]abi.Item, len(c.Request.Items))
	for i, it := range c.Request.Items {
		items[i] = abi.Item{ID: fmt.Sprint(i), Content: it.Content, Source: "retrieval", Score: 0.5, Priority: 5}
	}
	items, err = step.Run(t.Context(), &abi.Query{Text: c.Request.Query.Text}, items)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, "%s:%x ", it.ID, it.Score)
	}
	return b.String()
}

// languageWant is what languageAnswer must return.
func languageWant(c *languageCase) string {
	var b strings.Builder
	for _, row := range slices.Concat(c.Keep, c.Order) {
		score := 0.5
		if c.Scores != nil {
			score = c.Scores[row]
		}
		fmt.Fprintf(&b, "%d:%x ", row, score)
	}
	return b.String()
}
