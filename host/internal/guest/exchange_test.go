package guest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/testkit/guesttest"
)

// document is a request of n bytes.
func document(n int) []byte { return bytes.Repeat([]byte("document"), n/8+1)[:n] }

// numbers is what the fixture says through Extism.
func numbers(a, b uint64) string {
	return string(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, a), b))
}

// A guest that takes documents is given them in its memory, and answers there or, as far
// as it has not taken them, through Extism.
func TestDocumentsThroughTheMailbox(t *testing.T) {
	kernels(t, func(t *testing.T, o guesttest.Options) {
		o.Limits = guest.Limits{Output: 4000, Input: 8000}
		for _, tt := range []struct {
			op     abi.Operation
			size   int
			want   string
			reason abi.Reason
			fail   string
		}{
			{abi.OpProvide, 1, "d", "", ""},
			{abi.OpProvide, 4000, string(document(4000)), "", ""},
			{abi.OpProvide, 4001, "", abi.ReasonOutputTooLarge, "output of 4001 bytes, allowed 4000"},
			{abi.OpProvide, 4097, "", abi.ReasonInputTooLarge, "the guest lends room for 4096 bytes, needed are 4097"},
			{abi.OpProvide, 5000, "", abi.ReasonInputTooLarge, "the guest lends room for"},
			{abi.OpProvide, 6000, "", abi.ReasonInvalidOutput, "mailbox states an input buffer 65536+65537 beyond the memory"},
			{abi.OpProvide, 7000, "", abi.ReasonInvalidOutput, "the mailbox lost its field document"},
			{abi.OpProvide, 8001, "", abi.ReasonInputTooLarge, "input of 8001 bytes, allowed 8000"},
			{abi.OpProcess, 9, "", "", ""},
			{abi.OpClassify, 9, "", abi.ReasonInvalidOutput, "mailbox states output 131064+64 beyond the memory of 131072 bytes"},
			{abi.OpFormat, 9, numbers(9, 0), "", ""},
			{abi.OpFormat, 0, numbers(0, 0), "", ""},
			{abi.OpCompact, 9, "", abi.ReasonGuestError, "anormale"},
			{abi.OpTransformQuery, 9, numbers(1, 2), "", ""},
		} {
			out, err := guesttest.Open(t, "documents", o).Call(t.Context(), tt.op.JSONExport(), document(tt.size))
			switch {
			case tt.reason != "":
				if failed := guesttest.CheckReason(t, err, tt.reason); !strings.Contains(failed.Error(), tt.fail) {
					t.Errorf("%s with %d bytes: %v, want %s", tt.op, tt.size, failed, tt.fail)
				}
			case err != nil || string(out) != tt.want:
				t.Errorf("%s with %d bytes: %v, output %.40q, want %.40q", tt.op, tt.size, err, out, tt.want)
			}
		}
	})
}

// What is no operation of the contract has its input from Extism, and so has a guest whose
// mailbox has no place for the length of a document.
func TestNoDocumentsThroughTheMailbox(t *testing.T) {
	out, err := guesttest.Open(t, "documents", guesttest.Options{}).Call(t.Context(), "other", document(9))
	if err != nil || string(out) != numbers(0, 9) {
		t.Errorf("another function: %v, %q, want %q", err, out, numbers(0, 9))
	}
	out, err = guesttest.Open(t, "documents-at-end", guesttest.Options{}).Call(t.Context(), abi.OpProcess.JSONExport(), document(9))
	if err != nil || string(out) != "documentd" {
		t.Errorf("a mailbox at the end: %v, %q, want documentd", err, out)
	}
}

// What a guest holds in the kernel counts for its limit and for the host's
// budget, and is given back when the call is over.
func TestKernelMemoryCounts(t *testing.T) {
	kernels(t, func(t *testing.T, o guesttest.Options) {
		o.Limits.Memory = 16 << 20
		g := guesttest.Open(t, "foreign-calls", o)
		hold := func(g *guesttest.Guest, mib int) error {
			_, err := g.Call(t.Context(), "hold", fmt.Appendf(nil, "%03d", mib))
			return err
		}
		if err := hold(g, 14); err != nil {
			t.Error(err)
		}
		if _, used := g.Room.Usage(); used < 14<<20 {
			t.Errorf("the host counts %d bytes for 14 MiB", used)
		}
		guesttest.CheckReason(t, hold(g, 17), abi.ReasonMemory)
		if err := hold(g, 14); err != nil {
			t.Error("after a call that was refused memory:", err)
		}
		// The guest's own memory and the kernel's share the limit.
		if _, err := g.Call(t.Context(), "grow", []byte("010")); err != nil {
			t.Error(err)
		}
		guesttest.CheckReason(t, hold(g, 14), abi.ReasonMemory)

		// The host's budget bounds all of them together.
		o.Limits.Memory, o.Memory = 64<<20, 8<<20
		guesttest.CheckReason(t, hold(guesttest.Open(t, "foreign-calls", o), 12), abi.ReasonMemory)
	})
}

// An input that does not fit is an error, not an empty input.
func TestInputThatDoesNotFit(t *testing.T) {
	kernels(t, func(t *testing.T, o guesttest.Options) {
		o.Limits.Memory = 1 << 20
		g := guesttest.Open(t, "foreign", o)
		_, err := g.Call(t.Context(), "echo", make([]byte, 2<<20))
		guesttest.CheckReason(t, err, abi.ReasonInputTooLarge)
		if _, err := g.Call(t.Context(), "echo", make([]byte, 1<<10)); err != nil {
			t.Error("the next call:", err)
		}
	})
}

// A guest that has the kernel work without end is stopped in time.
func TestKernelWorkEndsWithTheTime(t *testing.T) {
	kernels(t, func(t *testing.T, o guesttest.Options) {
		o.Limits = guest.Limits{Timeout: 50 * time.Millisecond, Memory: 256 << 20}
		for _, name := range []string{"reuse_forever", "load_forever", "error_forever"} {
			_, err := guesttest.Open(t, "foreign-calls", o).Call(t.Context(), name, nil)
			guesttest.CheckReason(t, err, abi.ReasonTimeout)
		}
	})
}

// faults are fixtures whose call of filter fails, with the cause and the remedy.
var faults = []struct {
	name         string
	reason       abi.Reason
	want, remedy string
}{
	{"exit", abi.ReasonExit, "the guest ended itself with exit code 3", "a plugin must not end its own process"},
	{"guest-error", abi.ReasonGuestError, "no index at /docs\nbuild it first \x1b[31m", ""},
	{"guest-error-status-0", abi.ReasonGuestError, "half done", ""},
	{"log-then-trap", abi.ReasonTrap, "unreachable", "the guest wrote: error: panicked at src/lib.rs:7:21: index  out of bounds"},
	{"memory-hog", abi.ReasonMemory, "needs more than 2MiB", "raise limits.memory, or have the plugin hold less"},
	{"output-out-of-bounds", abi.ReasonInvalidOutput, "output at 16, length 4294967296 is outside the memory of 65536 bytes", ""},
	{"output-too-large", abi.ReasonOutputTooLarge, "output of 9000000 bytes, allowed 8388608", "raise limits.output, limits.items or limits.tokens, or have the plugin return less"},
	{"status-without-message", abi.ReasonGuestError, "status 7 without a message", ""},
	{"stderr-then-trap", abi.ReasonTrap, "unreachable", "the guest wrote: panic: index out of rang"},
	{"trap-in-named", abi.ReasonTrap, "integer divide by zero", "a fault inside the plugin: its author can reproduce it with plugin call"},
	{"trap", abi.ReasonTrap, "unreachable", "a fault inside the plugin: its author can reproduce it with plugin call"},
}

// A call that fails says why and what to do, in both engines and with both kernels.
func TestFaults(t *testing.T) {
	for _, tc := range faults {
		for _, interpreted := range []bool{false, true} {
			kernels(t, func(t *testing.T, o guesttest.Options) {
				o.Interpreted = interpreted
				if tc.name == "memory-hog" {
					o.Limits.Memory = 2 << 20
				}
				_, err := guesttest.Open(t, tc.name, o).Call(t.Context(), "anchor_filter", []byte(`{}`))
				failed := guesttest.CheckReason(t, err, tc.reason)
				if failed.Error() != tc.want || failed.Remedy != tc.remedy {
					t.Errorf("%s: error %q, remedy %q\nwant  %q, remedy %q", tc.name, failed.Error(), failed.Remedy, tc.want, tc.remedy)
				}
			})
		}
	}
}

// The mailbox of a guest is checked when it starts.
func TestBadMailboxes(t *testing.T) {
	for name, want := range map[string]string{
		"mailbox-malformed":          "invalid_output: mailbox states size 4 (want 24 or more)",
		"mailbox-out-of-bounds":      "invalid_output: mailbox at 65530 is outside the memory of 65536 bytes",
		"mailbox-room-out-of-bounds": "invalid_output: mailbox states an input buffer 64+4294967295 beyond the memory of 65536 bytes",
	} {
		_, err := guesttest.Start(t, name, guesttest.Options{})
		if failed := guesttest.CheckReason(t, err, abi.ReasonInitFailed); failed.Error() != want {
			t.Errorf("%s: error %v, want %s", name, failed, want)
		}
	}
}

// An error that says nothing of the host is no fault of a guest that has none.
func TestErrorsWithoutAGuest(t *testing.T) {
	failed := guest.Explain(nil, guest.InInit(errors.New("odd")))
	if failed.Reason != abi.ReasonInitFailed || failed.Error() == "" || failed.Log != "" || failed.Stack != "" {
		t.Errorf("%+v, want an init that failed, without a log", failed)
	}
}
