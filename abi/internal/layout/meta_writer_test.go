package layout

import "testing"

// A table that is used again keeps no text of the rows before alive.
func TestMetaTableReset(t *testing.T) {
	var table MetaTable
	table.Reset()
	if err := table.Add(map[string]any{"a": "b", "c": int64(1)}); err != nil {
		t.Fatal(err)
	}
	if len(table.keys) != 2 || len(table.index) != 2 {
		t.Fatalf("the table has the keys %q", table.keys)
	}
	table.Reset()
	if keys := table.keys[:2]; keys[0]+keys[1] != "" || len(table.index) != 0 {
		t.Errorf("the table has the keys %q", keys)
	}
}
