package authoring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host"
)

// templateFuel is the most fuel that a call of a new project may use in the kit: a third of what
// a host grants, so that authors have room for their own work.
const templateFuel = host.DefaultFuel / 3

// metered is a target that notes the fuel of the call that used the most.
type metered struct {
	conformance.Target
	most atomic.Int64
}

// Load implements conformance.Target.
func (m *metered) Load(ctx context.Context, o conformance.LoadOptions) (conformance.Guest, error) {
	guest, err := m.Target.Load(ctx, o)
	return meteredGuest{guest, m}, err
}

type meteredGuest struct {
	conformance.Guest
	target *metered
}

// Call implements conformance.Guest. A call that a limit ended used as much as it may: the kit
// lets a plugin refuse a large request, but a template serves it.
func (g meteredGuest) Call(ctx context.Context, c conformance.Call) (*conformance.Answer, error) {
	answer, err := g.Guest.Call(ctx, c)
	used := int64(0)
	if err == nil {
		used = answer.Fuel
	}
	var failed interface{ Reason() string }
	if errors.As(err, &failed) && failed.Reason() == string(abi.ReasonFuel) {
		used = host.DefaultFuel
	}
	for most := g.target.most.Load(); used > most && !g.target.most.CompareAndSwap(most, used); most = g.target.most.Load() {
	}
	return answer, err
}

// matrix is the fuel of the templates: language by operation.
type matrix struct {
	mu    sync.Mutex
	cells map[string]map[string]int64 // operation, language
}

// newMatrix makes a matrix that is printed at the end of a test.
func newMatrix(t *testing.T) *matrix {
	m := &matrix{cells: map[string]map[string]int64{}}
	t.Cleanup(func() { fmt.Print(m) })
	return m
}

// add notes a cell, and fails the test if it is too much.
func (m *matrix) add(t *testing.T, language, kind string, fuel int64) {
	t.Helper()
	if fuel > templateFuel {
		t.Errorf("a call used %d of fuel, want at most %d, a third of what a host grants", fuel, int64(templateFuel))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cells[kind] == nil {
		m.cells[kind] = map[string]int64{}
	}
	m.cells[kind][language] = fuel
}

// The days of CI have the templates of all languages among them.
func TestEachLanguageHasADay(t *testing.T) {
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	var days []string
	for line := range strings.Lines(string(script)) {
		if _, list, ok := strings.Cut(line, ") templates="); ok {
			days = append(days, strings.Split(strings.TrimSuffix(strings.TrimSpace(list), " ;;"), ",")...)
		}
	}
	for _, language := range Languages() {
		if !slices.Contains(days, language) {
			t.Errorf(".ci/run: no day has the templates of %s, want one: %v", language, days)
		}
	}
}

// String returns the matrix in percent of the fuel that a host grants. Operations that a language
// has no template for, and those that were not run, are "-".
func (m *matrix) String() string {
	var languages []string
	for _, language := range Languages() {
		for _, row := range m.cells {
			if _, ok := row[language]; ok {
				languages = append(languages, language)
				break
			}
		}
	}
	if len(languages) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "fuel of the dearest call, in percent of the default (at most 33)\n%-16s", "")
	for _, language := range languages {
		fmt.Fprintf(&b, "%8s", language)
	}
	for _, info := range abi.Operations {
		op := string(info.Op)
		if m.cells[op] == nil {
			continue
		}
		fmt.Fprintf(&b, "\n%-16s", op)
		for _, language := range languages {
			if fuel, ok := m.cells[op][language]; ok {
				fmt.Fprintf(&b, "%8.2f", 100*float64(fuel)/host.DefaultFuel)
			} else {
				fmt.Fprintf(&b, "%8s", "-")
			}
		}
	}
	b.WriteByte('\n')
	return b.String()
}
