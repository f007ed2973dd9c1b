package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Each limit that can be configured is shown, with what the instance states.
func TestInspectShowsEachLimit(t *testing.T) {
	fields := reflect.TypeFor[config.Limits]()
	if n := len(limitLines(abi.LimitRequest{}, nil)); n != fields.NumField() {
		t.Errorf("%d limits are shown, %d can be configured", n, fields.NumField())
	}
	for i := range fields.NumField() {
		var instance config.Instance
		reflect.ValueOf(&instance.Limits).Elem().Field(i).SetInt(7)
		for _, line := range limitLines(abi.LimitRequest{}, &instance) {
			if own := line.Limit == fields.Field(i).Tag.Get("key"); own != (line.Set != "") || line.Default == "" {
				t.Errorf("%s is stated, the report says %+v", fields.Field(i).Name, line)
			}
		}
	}
}

// What a module is made of, and what its author could do better.
func TestPluginInspectAnatomy(t *testing.T) {
	code, stdout, stderr := run(t, "", "plugin", "inspect", "keep-first", "--plugins", fixtureDir)
	if code != codeOK {
		t.Fatalf("code %d, %s", code, stderr)
	}
	for _, want := range []string{
		"memory       64KiB at the start, no maximum\n", "module       3 functions, ", " of data\n", "sections     name (",
		"\nadvice\n  filter has no batch lane: items travel as JSON, many times slower for a thousand of them (export \"anchor_batch_filter\")\n",
		"  the memory has no maximum and plugin.yaml no limits.memory: 64MiB is the bound (state what the plugin needs as limits.memory)\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the report lacks %q:\n%s", want, stdout)
		}
	}
	code, stdout, stderr = run(t, "", "plugin", "inspect", "http-ungranted", "--plugins", fixtureDir, "-o", "json")
	var report inspection
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != codeOK {
		t.Fatalf("code %d, %v, %s", code, err, stderr)
	}
	if report.Anatomy.Functions == 0 || report.Anatomy.Memory != 64<<10 || report.Anatomy.MaxMemory != 0 || len(report.Advice) == 0 {
		t.Errorf("the report says %+v, %q", report.Anatomy, report.Advice)
	}
}

// A foreign module has no contract to be advised about.
func TestPluginInspectForeign(t *testing.T) {
	code, stdout, stderr := run(t, "", "plugin", "inspect", "foreign", "--plugins", fixtureDir)
	if code != codeOK || !strings.Contains(stdout, "\nadvice: none\n") {
		t.Errorf("code %d, %s%s", code, stdout, stderr)
	}
}
