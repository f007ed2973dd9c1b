package main

import (
	"bytes"
	"path/filepath"
	"testing"
)

// endless is an input without an end.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// No command reads more than it can use, and each says what is too large.
func TestEndlessInput(t *testing.T) {
	module, err := filepath.Abs(filepath.Join(fixtureDir, "spin-forever", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"plugin", "call", module, "run", "--input-file", "-"}, codeLimit,
			"plugin \"" + module + "\": run: input_too_large: stdin: more than 32MiB (send less in one call)"},
		{[]string{"assemble"}, codeInvalid, "invalid: stdin: larger than 64 MiB"},
		{[]string{"assemble", "--run", "r", "--store", "s.db"}, codeInvalid, "invalid: stdin: larger than 64 MiB"},
		{[]string{"build", "--request", "-"}, codeInvalid, "invalid: stdin: larger than 64 MiB"},
		{[]string{"build", "--items", "-", "q"}, codeInvalid, "invalid: stdin: larger than 64 MiB"},
		{[]string{"build", "-"}, codeInvalid, "invalid: stdin: the query is longer than 1024 KiB"},
		{[]string{"memory", "add", "--store", "s.db", "-"}, codeInvalid, "invalid: stdin: the text is longer than 8 MiB"},
		{[]string{"memory", "import", "--store", "s.db", "-"}, codeInvalid, "stdin: import: line 1: invalid value: longer than 16809984 bytes (nothing is stored)"},
	} {
		var stdout, stderr bytes.Buffer
		code := doMain(t.Context(), tt.args, endless('x'), &stdout, &stderr)
		if want := "anchor-host: " + tt.want + "\n"; code != tt.code || stderr.String() != want {
			t.Errorf("%v: code %d, %q, want %d, %q", tt.args, code, stderr.String(), tt.code, want)
		}
	}
}
