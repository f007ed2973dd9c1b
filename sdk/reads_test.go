package sdk_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
)

// TestUnsentColumnIsReported holds each helper library to one warning for each column that a
// plugin reads and its manifest does not name, in both lanes, however often it is called. A
// column that the operator does not send is no mistake of the plugin.
func TestUnsentColumnIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("runs compilers")
	}
	var log bytes.Buffer
	h := newHost(t, &log)
	for _, language := range []string{"go", "c", "rust", "zig", "ts", "js"} {
		t.Run(language, func(t *testing.T) {
			spec := buildGuest(t, "reads", language)
			for _, lane := range spec.Operations[0].Lanes {
				for _, reads := range [][]string{nil, {"none"}} {
					log.Reset()
					p, err := h.Load(t.Context(), spec, host.PluginConfig{Lane: lane})
					if err != nil {
						t.Fatal(err)
					}
					step, err := steps.New(p, abi.OpFilter, steps.Options{Reads: reads})
					if err != nil {
						t.Fatal(err)
					}
					for range 3 {
						if _, err := between(t, step); err != nil {
							t.Fatal(err)
						}
					}
					checkUnsent(t, &log, "metadata", "source")
				}
			}
		})
	}
}

// checkUnsent checks that the log has one line for each of the columns, and no other.
func checkUnsent(t *testing.T, log *bytes.Buffer, columns ...string) {
	t.Helper()
	lines := slices.DeleteFunc(strings.Split(log.String(), "\n"), func(l string) bool { return !strings.Contains(l, "level=WARN") })
	for _, c := range columns {
		want := `level=WARN msg="filter reads the column ` + c + `, but the manifest does not name it, so it is empty: name ` + c + ` under reads of filter in plugin.yaml" plugin=reads`
		i := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, want) })
		if i < 0 {
			t.Errorf("no line %s in\n%s", want, log)
			return
		}
		lines = slices.Delete(lines, i, i+1)
	}
	if len(lines) > 0 {
		t.Errorf("more lines than one for each column: %q", lines)
	}
}
