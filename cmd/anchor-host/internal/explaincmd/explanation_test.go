package explaincmd

import (
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline"
)

// What a build asked of models and embedders is among its figures.
func TestDiagnosticRowsNameServices(t *testing.T) {
	rows := diagnosticRows(&pipeline.Diagnostics{Services: []ledger.Line{
		{Use: ledger.Use{Service: "llm", Name: "small", Plugin: "judge"}, Amount: ledger.Amount{Calls: 8, Cached: 3, InputTokens: 910}, CostUSD: 0.0123},
		{Use: ledger.Use{Service: "embed", Name: "local"}, Amount: ledger.Amount{Calls: 1, Failed: 1, Texts: 2}},
	}})
	for _, want := range [][]string{
		{"asked llm small", "8 calls, 3 cached, 910 tokens in, 0.0123 USD (judge)"},
		{"asked embed local", "1 call, 1 failed, 2 texts"},
	} {
		if !slices.ContainsFunc(rows, func(row []string) bool { return slices.Equal(row, want) }) {
			t.Errorf("%q lack %q", rows, want)
		}
	}
}
