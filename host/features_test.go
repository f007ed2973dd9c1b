package host_test

import (
	"bytes"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// Each switch switches a feature off, and those that need it, and nothing else. Plugins
// work without, and nothing is said of what was asked for.
func TestEachFeatureSwitchedOff(t *testing.T) {
	fields := reflect.TypeFor[host.Features]()
	seen := map[string]bool{}
	for i := range fields.NumField() {
		var off host.Features
		reflect.ValueOf(&off).Elem().Field(i).SetBool(true)
		var log bytes.Buffer
		h := newHost(t, host.Config{Features: off, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		switched := 0
		for _, f := range h.Features() {
			if f.On != (f.Why == "" && f.Without == "") || f.Unexpected {
				t.Errorf("%s: %+v", fields.Field(i).Name, f)
			}
			if f.Why == "switched off by Config.Features" {
				switched++
				seen[f.Name] = true
				if want := "No" + strings.ReplaceAll(f.Name, "-", ""); !strings.EqualFold(fields.Field(i).Name, want) {
					t.Errorf("%s switches %s off", fields.Field(i).Name, f.Name)
				}
			}
		}
		if switched != 1 {
			t.Errorf("%s switches %d features off", fields.Field(i).Name, switched)
		}
		p := load(t, h, "keep-first", host.PluginConfig{})
		s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if out, err := s.Run(t.Context(), nothing, twoRows()); err != nil || len(out) != 1 {
				t.Errorf("%s: %d items, error %v", fields.Field(i).Name, len(out), err)
			}
		}
		if strings.Contains(log.String(), "does without") {
			t.Errorf("%s: %s", fields.Field(i).Name, &log)
		}
	}
	if all := newHost(t, host.Config{}).Features(); len(all) != len(seen) {
		t.Errorf("%d features, %d switches", len(all), len(seen))
	}
}
