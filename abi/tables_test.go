package abi

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// constants returns the string constants of a type that a file declares.
func constants(t *testing.T, file, typ string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != typ {
			return true
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok {
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, s)
			}
		}
		return true
	})
	return values
}

// No constant is missing in the table that everything else reads.
func TestTablesAreComplete(t *testing.T) {
	var reasons, changes, ops []string
	for _, r := range Reasons {
		reasons = append(reasons, string(r))
	}
	for _, c := range AllChanges {
		changes = append(changes, string(c))
	}
	for _, info := range Operations {
		ops = append(ops, string(info.Op))
	}
	for _, tc := range []struct {
		file, typ string
		table     []string
	}{{"status.go", "Reason", reasons}, {"column.go", "Change", changes}, {"operation.go", "Operation", ops}} {
		if want := constants(t, tc.file, tc.typ); len(want) == 0 || !slices.Equal(tc.table, want) {
			t.Errorf("%s: the table has %q, the constants are %q", tc.typ, tc.table, want)
		}
	}
}

// The table of sections is in the order in which containers list them.
func TestTablesAgree(t *testing.T) {
	for i, s := range layout.Sections {
		if i > 0 && s.ID <= layout.Sections[i-1].ID {
			t.Errorf("section %s is out of order", s.Name)
		}
		if c, ok := ColumnByName(s.Name); s.ID < 256 && (!ok || layout.Section(c) != s.ID) {
			t.Errorf("section %s has id %d, its column %d", s.Name, s.ID, c)
		}
	}
	if layout.Major != Version {
		t.Errorf("the layout has version %d, the contract %d", layout.Major, Version)
	}
}

// Every operation has one row in each table.
func TestOperations(t *testing.T) {
	for _, info := range Operations {
		if !info.Op.Valid() || info.Answer == (info.Reply == "") {
			t.Errorf("%s: Answer %v, Reply %q", info.Op, info.Answer, info.Reply)
		}
		if s, ok := LookupExport(info.Op.JSONExport()); !ok || s.String() != "() -> (i32)" {
			t.Errorf("%s: export %v", info.Op, s)
		}
		s, ok := LookupExport(info.Op.BatchExport())
		if ok != info.Batch || ok && s.String() != "(i32, i32) -> (i32)" {
			t.Errorf("%s: batch export %v, %v", info.Op, s, ok)
		}
		writes, err := ChangesOf(info.Writes)
		if err != nil {
			t.Error(err)
		}
		for _, c := range info.DefaultWrites {
			if !writes.Has(c) {
				t.Errorf("%s writes %s by default, which it cannot", info.Op, c)
			}
		}
	}
	if Operation("nothing").Valid() {
		t.Error("nothing is valid")
	}
}

func TestNames(t *testing.T) {
	if _, err := ColumnsOf([]string{"id", "txt"}); !errors.Is(err, ErrUnknownName) || err.Error() != `unknown column "txt" (want one of id, score, text, metadata, source, priority, token_count, created_at, embedding)` {
		t.Error(err)
	}
	if _, err := ChangesOf([]Change{"kep"}); !errors.Is(err, ErrUnknownName) || err.Error() != `unknown change "kep" (want one of keep, text, metadata, priority, score, items, order)` {
		t.Error(err)
	}
	set, err := ColumnsOf(AllColumns.Names())
	if err != nil || set != AllColumns || len(AllColumns.Names()) != len(Columns) {
		t.Errorf("%v, %v", set, err)
	}
}
