package price

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/ledger"
)

const example = `# US dollars for a million tokens
date: 2026-11-27
source: made up for a test
models:
  small: {input: 1, output: 4}
  "org/large:7b": {input: 2.5, cached: 0.25, output: 10}
`

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	amount := ledger.Amount{InputTokens: 1000, CachedTokens: 400, OutputTokens: 100}
	for model, want := range map[string]float64{
		"small":        (1000*1 + 100*4) / 1e6, // without a price of its own, cached input costs as much as other input
		"org/large:7b": (600*2.5 + 400*0.25 + 100*10) / 1e6,
	} {
		rate, ok := table.Rate(model)
		if have := rate.Cost(amount); !ok || math.Abs(have-want) > 1e-12 {
			t.Errorf("%s: cost %v, %v, want %v", model, have, ok, want)
		}
	}
	if _, ok := table.Rate("unknown"); ok {
		t.Error("an unknown model has a price")
	}
	if _, ok := (*Table)(nil).Rate("small"); ok {
		t.Error("no table has a price")
	}
	if have := strings.Join(table.Models(), " "); have != "org/large:7b small" || table.Date.Year() != 2026 {
		t.Errorf("models %s of %v", have, table.Date)
	}
}

func TestRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "missing key",
		"[1]":                               "",
		"date: 2026-11-27\nmodels: {}":      "source",
		"date: soon\nsource: x\nmodels: {}": "date",
		"date: 2026-11-27\nsource: ''\nmodels: {}":                  "source",
		strings.Replace(example, "input: 1,", "input: -1,", 1):      "models.small.input",
		strings.Replace(example, "input: 1,", "input: .nan,", 1):    "not finite",
		strings.Replace(example, "input: 1,", "inptu: 1,", 1):       "inptu",
		strings.Replace(example, "{input: 1, output: 4}", "{}", 1):  "models.small",
		strings.Replace(example, "input: 1,", "input: 1e300,", 1):   "models.small.input",
		strings.Replace(example, "  small:", "  small: 1\n  a:", 1): "models.small",
	} {
		if _, err := Parse("prices.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "missing.yaml")); err == nil {
		t.Error("a missing file is read")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("date: 2026-11-27\nsource: x\nmodels: &a {a: *a}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Parse("prices.yaml", data)
		if err != nil {
			return
		}
		for _, m := range table.Models() {
			r, _ := table.Rate(m)
			if c := r.Cost(ledger.Amount{InputTokens: 10, CachedTokens: 3, OutputTokens: 5}); math.IsNaN(c) || c < 0 {
				t.Errorf("%q costs %v", m, c)
			}
		}
	})
}
