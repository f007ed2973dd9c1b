package memory

import (
	"slices"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Of facts that score the same, the newest comes first, whatever their order: it may correct the others.
func TestTiesGoToTheNewest(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var entries []*Entry
	for i, content := range []string{"Ann lives in Oslo.", "ann lives in oslo", "Ann lives in Rome."} {
		at := now.Add(time.Duration(i) * time.Second)
		entries = append(entries, &Entry{Content: content, CreatedAt: at, UpdatedAt: at, Relevance: 0.5})
	}
	for range 2 {
		slices.Reverse(entries)
		ranked, err := (&Scorer{}).rank(t.Context(), nil, &pipeline.Query{Text: "where does ann live"}, entries, now.Add(time.Hour))
		if err != nil || ranked[0].entry.Content != "Ann lives in Rome." || ranked[2].entry.Content != "Ann lives in Oslo." {
			t.Errorf("%v, %q, %q", err, ranked[0].entry.Content, ranked[2].entry.Content)
		}
		if found := search(entries, "ann"); found[0].Content != "Ann lives in Rome." {
			t.Errorf("search: %q", found[0].Content)
		}
	}
}
