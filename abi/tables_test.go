package abi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
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

// The table of sections is in the order in which containers list them, and the
// permission table names keys that exist.
func TestTablesAgree(t *testing.T) {
	for i, s := range Sections {
		if i > 0 && s.ID <= Sections[i-1].ID {
			t.Errorf("section %s is out of order", s.Name)
		}
		if c, ok := ColumnByName(s.Name); s.ID < 256 && (!ok || Section(c) != s.ID) {
			t.Errorf("section %s has id %d, its column %d", s.Name, s.ID, c)
		}
	}
	var keys []string
	for _, f := range permissionFields {
		keys = append(keys, f.keys...)
	}
	slices.Sort(keys)
	want := []string{}
	for _, row := range members1(Permission{}) {
		if row[0] != "kind" && row[0] != "reason" {
			want = append(want, row[0])
		}
	}
	slices.Sort(want)
	if !slices.Equal(keys, want) {
		t.Errorf("permission keys: %q, members %q", keys, want)
	}
}
