package guest

import (
	"errors"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

// The line that an error quotes says why the guest ended, not what it logged before.
func TestReasonOfALog(t *testing.T) {
	for log, want := range map[string]string{
		"": "",
		"info: begin\nerror: first\nerror: my panic\n": "error: my panic",
		"info: begin\n":                      "",
		"debug: a\nwarn: b\nout of cheese\n": "out of cheese",
		"a line\npanic: no\n\ngoroutine 1\n": "panic: no",
		"info: begin\nerror: panicked at src/lib.rs:7:21:\nindex out of bounds\nnote: x\n": "error: panicked at src/lib.rs:7:21: index out of bounds",
		"error: TypeError: no\n    at deep (plugin.js:15)\n":                               "error: TypeError: no",
	} {
		if got := reason(log); got != want {
			t.Errorf("%q: got %q, want %q", log, got, want)
		}
	}
}

// A wrong address without a word of the guest may be a stack that is too small.
func TestOutOfBoundsNamesTheStack(t *testing.T) {
	var in *Instance
	f := in.FaultOf(errors.New("wasm error: out of bounds memory access\nwasm stack trace:\n\t.filter() i32"))
	if f.Reason != abi.ReasonTrap || !strings.Contains(f.Remedy, "64 KiB in projects of C, Zig and Rust") {
		t.Errorf("%+v", f)
	}
}
