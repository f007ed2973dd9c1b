package sqlite

import (
	"database/sql/driver"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/internal/sqlindex"
)

// TestPlans finds statements that would read more rows than necessary.
func TestPlans(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	c, err := s.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.release(c, nil)
	for _, sql := range []string{
		readUp, readDown, readID, readSeq, listKeys, sizeOf,
		findList, updateList, findSeq, findID, updateOne, deleteOne, deleteRange, sqlindex.PageDocuments, sqlindex.FindDocument, dialect.FindTexts,
	} {
		args := []driver.Value{"", ""}
		if !strings.Contains(sql, "?1") && !strings.Contains(sql, "?2") {
			args = make([]driver.Value, strings.Count(sql, "?"))
		}
		var plan []string
		err := c.query("EXPLAIN QUERY PLAN "+sql, args, func(row []driver.Value) error {
			plan = append(plan, row[3].(string))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if p := strings.Join(plan, "; "); p == "" || strings.Contains(p, "SCAN ") && !strings.Contains(p, "SCAN CONSTANT") && !strings.Contains(p, "SCAN p VIRTUAL TABLE") || strings.Contains(p, "TEMP B-TREE") {
			t.Errorf("%s\n%s", sql, p)
		}
	}
}
