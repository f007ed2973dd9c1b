package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// outcome is what the tests say of a mutant.
type outcome int

const (
	survived outcome = iota
	killed
	broken // it does not compile
)

// limits returns how long the tests of each package may take: far longer than they take without a
// change. The first of two runs builds.
func limits(root string, suite []tests) (list []time.Duration, err error) {
	for _, t := range suite {
		var took time.Duration
		for range 2 {
			begin := time.Now()
			if out, what := t.run(root, "", 10*time.Minute); what != survived {
				return nil, fmt.Errorf("the tests of %s fail without a change:\n%s", t.Package, out)
			}
			took = time.Since(begin)
		}
		list = append(list, 20*time.Second+10*took)
	}
	return list, nil
}

// try runs tests with a mutant, until one fails.
func try(root, dir string, m *mutant, suite []tests, limits []time.Duration) (outcome, error) {
	path, changed, overlay := filepath.Join(root, m.file), filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	source, err := os.ReadFile(path)
	if err != nil {
		return broken, err
	}
	text := string(source[:m.start]) + m.text + string(source[m.end:])
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err = errors.Join(err, os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return broken, err
	}
	for i, t := range suite {
		if _, what := t.run(root, overlay, limits[i]); what != survived {
			return what, nil
		}
	}
	return survived, nil
}

// run runs the tests. Those that are stopped by the time limit have failed.
func (t tests) run(root, overlay string, limit time.Duration) (string, outcome) {
	args := []string{"test", "-vet=off", "-short", "-failfast", "-count=1", "-ldflags=-s -w", fmt.Sprintf("-timeout=%v", limit)}
	if t.Run != "" {
		args = append(args, "-run="+t.Run)
	}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+5*time.Minute) // the build has time of its own
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, t.Package)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err == nil:
		return text, survived
	case strings.Contains(text, "[build failed]"), strings.Contains(text, "[setup failed]"):
		return text, broken
	default:
		return text, killed
	}
}
