package config

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// lines repeats a line with its number.
func lines(n int, before, line string) string {
	var b strings.Builder
	b.WriteString(before)
	for i := range n {
		fmt.Fprintf(&b, line, i)
	}
	return b.String()
}

// Twice the file takes twice the memory, whatever is wrong with it: nothing is looked for in a list for
// each entry of another, or of itself.
func TestChecksGrowWithTheFile(t *testing.T) {
	files := map[string]func(n int) string{
		"labels": func(n int) string {
			return lines(n, "steps:\n- name: a\n  classifier:\n    keywords:\n", "      label%040d: [x]\n") + lines(n, "  routes:\n", "    route%040d: {use: p}\n")
		},
		"missing instances": func(n int) string {
			return lines(n, "plugins:\n  instances:\n", "    i%d: {plugin: p}\n") + lines(n, "steps:\n", "- {name: s%d, use: x_}\n")
		},
		"missing retrievers": func(n int) string {
			return lines(n, "retrievers:\n", "  r%d: {collection: c}\n") + lines(n, "steps:\n", "- {name: s%d, use: x_}\n")
		},
		"pipelines": func(n int) string {
			return lines(n, "steps:\n", "- {name: s%d, use: sort}\n") + lines(n, "pipelines:\n", "  p%d: {window: {max_tokens: 9}}\n")
		},
		"pipelines and instances": func(n int) string {
			return lines(n, "plugins:\n  instances:\n", "    i%d: {plugin: p}\n") + lines(n, "pipelines:\n", "  p%d: {memory: {use: x_}}\n")
		},
		"models": func(n int) string {
			return lines(n, "models:\n", "  m%d: {api: openai, model: m}\n") + lines(n, "plugins:\n  instances:\n", "    i%d: {plugin: p, grants: {llm: {models: [x]}}}\n")
		},
		"headers": func(n int) string {
			return lines(n, "embedders:\n  e:\n    http:\n      base_url: https://a.example\n      model: m\n      headers:\n", "        h%d: x\n")
		},
		"unknown keys": func(n int) string { return lines(n, "", "key%d: 1\n") },
	}
	for name, of := range files {
		cost := func(n int) int64 {
			data := []byte(of(n))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			l, err := Parse("anchor.yaml", data)
			if err == nil {
				l.Settings()
			}
			runtime.ReadMemStats(&after)
			var problems strict.Problems
			if err != nil && (!errors.As(err, &problems) || len(problems) > strict.MaxProblems+1 || len(err.Error()) > 12_000) {
				t.Errorf("%s: %d problems, %d bytes: %.300v", name, len(problems), len(err.Error()), err)
			}
			return int64(after.TotalAlloc - before.TotalAlloc)
		}
		cost(10) // what is made once
		if once, twice := cost(500), cost(1000); twice > once*5/2 {
			t.Errorf("%s: 500 lines take %d KiB, 1000 take %d KiB", name, once>>10, twice>>10)
		}
	}
}
