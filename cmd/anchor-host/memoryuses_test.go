package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// A fact that a build puts into its window is used once more, as the next command shows.
func TestBuildsCountAsUsesOfFacts(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "store: {path: store.db}\nmemory: {facts: {}}\n"}))
	must(t, "", "memory", "add", "Ann likes tea.")
	for range 2 {
		if out := must(t, "", "build", "tea"); !strings.Contains(out, "Ann likes tea.") {
			t.Fatal(out)
		}
	}
	var list []struct {
		Used int    `json:"access_count"`
		Last string `json:"last_accessed"`
		From string `json:"created_at"`
	}
	out := must(t, "", "memory", "list", "-o", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 || list[0].Used != 2 || list[0].Last <= list[0].From {
		t.Errorf("%v: %s", err, out)
	}
	if out := must(t, "", "memory", "list"); !strings.Contains(out, "USED") {
		t.Error(out)
	}
}
