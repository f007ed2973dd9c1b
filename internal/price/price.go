// Package price reads a table of what models cost. There is no built-in table: prices change within
// weeks, and a wrong cost is worse than none.
package price

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// maxFile bounds a file of prices, in bytes.
const maxFile = 1 << 20

// Table is what models cost.
type Table struct {
	// Date is the day of the prices, and Source says where they are from.
	Date   time.Time
	Source string
	rates  map[string]ledger.Rate
}

// document is the content of a file.
type document struct {
	Date   string           `key:"date,required" doc:"The day on which the prices were right, such as 2026-11-27."`
	Source string           `key:"source,required" doc:"Where the prices are from, such as the address of a page."`
	Models map[string]model `key:"models,required" doc:"The prices of a model, by its name for the server."`
}

type model struct {
	Input  float64  `key:"input,required" min:"0" max:"1000000" doc:"US dollars for a million tokens of input."`
	Output float64  `key:"output,required" min:"0" max:"1000000" doc:"US dollars for a million tokens of output."`
	Cached *float64 `key:"cached" min:"0" max:"1000000" doc:"US dollars for a million tokens of input that the server has in its cache. Default: that of input."`
}

// Read reads a file of prices. The error lists what is wrong with its lines.
func Read(path string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read prices: %w", err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("read prices: %s: larger than %d KiB", path, maxFile>>10)
	}
	return Parse(path, data)
}

// Parse reads the content of a file of prices. name is that of the file in errors.
func Parse(name string, data []byte) (*Table, error) {
	n, err := strict.ParseYAML(name, data)
	if err != nil {
		return nil, err
	}
	var d document
	if err := strict.Decode(name, n, &d); err != nil {
		return nil, err
	}
	date, err := time.Parse(time.DateOnly, d.Date)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: date: %q is no day (want one such as 2026-11-27)", name, d.Date)
	case d.Source == "":
		return nil, fmt.Errorf("%s: source: empty (say where the prices are from)", name)
	}
	t := &Table{Date: date, Source: d.Source, rates: map[string]ledger.Rate{}}
	for id, m := range d.Models {
		r := ledger.Rate{Input: m.Input, Cached: m.Input, Output: m.Output}
		if m.Cached != nil {
			r.Cached = *m.Cached
		}
		t.rates[id] = r
	}
	return t, nil
}

// Rate returns what a model costs, by its name for the server. It returns false if the table does not
// name the model, or is nil.
func (t *Table) Rate(model string) (ledger.Rate, bool) {
	if t == nil {
		return ledger.Rate{}, false
	}
	r, ok := t.rates[model]
	return r, ok
}

// Models lists the models of the table, sorted.
func (t *Table) Models() []string { return slices.Sorted(maps.Keys(t.rates)) }
