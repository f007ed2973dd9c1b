package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

const (
	// badTime is what a call of a guest that never returns has, others have badLimit: a
	// call that ends by itself must do so on a busy machine, too.
	badTime  = 100 * time.Millisecond
	badLimit = 5 * time.Minute

	tooLong  = `not done within 100ms (raise limits.timeout, or have the plugin do less)`
	noOutput = `invalid_output: status 0 without an output (set an output, or return status 1 for no change)`
	isAFault = `(a fault inside the plugin: its author can reproduce it with plugin call)`
	atInit   = `(raise limits.init_timeout, or have the plugin do less when it starts)`
	manyAs   = `AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA` + `AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`
)

// badCalls are fixtures whose call fails, with the full message. Package guest has tests of more
// that go wrong in the guest.
var badCalls = []struct {
	name   string
	reason abi.Reason
	want   string
}{
	{"batch-2-31-items", abi.ReasonInvalidOutput, `retrieve: invalid_output: changes has 2147483648 rows (want at most 1048576)`},
	{"batch-empty-output", abi.ReasonInvalidOutput, `filter: ` + noOutput},
	{"batch-invalid-utf8", abi.ReasonInvalidOutput, `retrieve: invalid_output: changes: items[0]: content is not valid UTF-8`},
	{"batch-output-4gib", abi.ReasonInvalidOutput, `filter: invalid_output: mailbox states output 0+4294967295 beyond the memory of 65536 bytes`},
	{"batch-output-out-of-bounds", abi.ReasonInvalidOutput, `filter: invalid_output: mailbox states output 65532+64 beyond the memory of 65536 bytes`},
	{"batch-output-overlaps", abi.ReasonInvalidOutput, `filter: invalid_output: changes begins with "ANCB" (want "ANCC")`},
	{"batch-score-nan", abi.ReasonInvalidOutput, `rerank: invalid_output: changes: scores[0]: row 0: score NaN is out of range (want 0 to 1)`},
	{"batch-truncated", abi.ReasonInvalidOutput, `filter: invalid_output: changes states 56 bytes and has 40 (want the same, at most 268435456)`},
	{"copy-forever", abi.ReasonTimeout, `filter: timeout: ` + tooLong},
	{"empty-output", abi.ReasonInvalidOutput, `filter: ` + noOutput},
	{"exit", abi.ReasonExit, `filter: exit: the guest ended itself with exit code 3 (a plugin must not end its own process)`},
	{"fill-forever", abi.ReasonTimeout, `filter: timeout: ` + tooLong},
	{"guest-error", abi.ReasonGuestError, "filter: guest_error: no index at /docs; build it first \uFFFD[31m"},
	{"host-calls-forever", abi.ReasonTimeout, `filter: timeout: ` + tooLong},
	{"http-ungranted", abi.ReasonDenied, `filter: denied: http is not permitted (its manifest does not ask for it: add it to permissions in plugin.yaml, and grant it with grants.http)`},
	{"invalid-json", abi.ReasonInvalidOutput, `filter: invalid_output: changes is not JSON: it ends too early`},
	{"invalid-utf8", abi.ReasonInvalidOutput, `retrieve: invalid_output: changes is not valid UTF-8`},
	{"json-trailing", abi.ReasonInvalidOutput, `filter: invalid_output: changes is not usable: data follows the JSON value (want one value only)`},
	{"json-unknown-field", abi.ReasonInvalidOutput, `filter: invalid_output: changes has the unknown member "kept" (want one of keep, edits, scores, items, order)`},
	{"kv-ungranted", abi.ReasonDenied, `filter: denied: kv is not permitted (its manifest does not ask for it: add it to permissions in plugin.yaml, and grant it with grants.kv)`},
	{"mailbox-too-small", abi.ReasonInputTooLarge, `filter: input_too_large: the guest lends room for 8 bytes, needed are 88 (raise limits.input or limits.memory, or send fewer items)`},
	{"memory-refused", abi.ReasonTimeout, `filter: timeout: not done within 100ms (it was refused more memory than 2MiB: raise limits.memory, or limits.timeout)`},
	{"memory-hog", abi.ReasonMemory, `filter: memory: needs more than 2MiB (raise limits.memory, or have the plugin hold less)`},
	{"not-granted", abi.ReasonDenied, `filter: denied: changes: items: change items is not granted (the step may change keep)`},
	{"order-incomplete", abi.ReasonInvalidOutput, `rerank: invalid_output: changes: order: lists 1 of 2 surviving rows (list each once)`},
	{"output-refused", abi.ReasonMemory, `filter: memory: needs more than 64MiB (raise limits.memory, or have the plugin hold less)`},
	{"output-too-large", abi.ReasonOutputTooLarge, `filter: output_too_large: output of 9000000 bytes, allowed 8388608 (raise limits.output, limits.items or limits.tokens, or have the plugin return less)`},
	{"priority-above-grant", abi.ReasonDenied, `retrieve: denied: items[0]: priority 10 is not granted (the step may state at most 5)`},
	{"recurse-forever", abi.ReasonTrap, `filter: trap: stack overflow: ` + nestsTooDeep()},
	{"recurse-in-width", abi.ReasonTimeout, `filter: timeout: ` + tooLong},
	{"row-missing", abi.ReasonInvalidOutput, `filter: invalid_output: changes: keep[1]: row 99: does not exist (the call has 2 rows, 0 to 1)`},
	{"row-twice", abi.ReasonInvalidOutput, `filter: invalid_output: changes: keep[1]: row 0: is listed twice (list each row once)`},
	{"score-out-of-range", abi.ReasonInvalidOutput, `rerank: invalid_output: changes: scores[0]: row 0: score 1.5 is out of range (want 0 to 1)`},
	{"sleep-forever", abi.ReasonTimeout, `filter: timeout: ` + tooLong},
	{"source-system", abi.ReasonDenied, `retrieve: denied: changes: items[0]: source "system" is not granted (state none, or one of retrieval)`},
	{"spin-forever", abi.ReasonTimeout, `filter: timeout: ` + tooLong},
	{"stdout-flood", abi.ReasonTrap, `filter: trap: unreachable (the guest wrote: ` + manyAs + `…)`},
	{"table-forever", abi.ReasonTimeout, `filter: timeout: ` + tooLong},
	{"trap", abi.ReasonTrap, `filter: trap: unreachable ` + isAFault},
	{"unfolds-items", abi.ReasonOutputTooLarge, `retrieve: output_too_large: changes: items: adds 2796195 items, allowed 10000 (raise limits.output, limits.items or limits.tokens, or have the plugin return less)`},
	{"unfolds-keys", abi.ReasonOutputTooLarge, `retrieve: output_too_large: changes of 546920 bytes name long metadata keys in too many rows (use shorter keys) (raise limits.output, limits.items or limits.tokens, or have the plugin return less)`},
}

// TestBadCalls runs each guest in each way its state may be kept. It checks the error and
// its reason, the time, that the plugin serves other calls and misbehaves as before in the
// next bad one, and that nothing is left of it.
func TestBadCalls(t *testing.T) {
	h := newHost(t, host.Config{})
	checkOtherPlugin(t, h) // what all plugins share is there
	for _, tc := range badCalls {
		for state := range states {
			t.Run(tc.name+"/"+string(state), func(t *testing.T) {
				limits := host.Limits{Timeout: badLimit, Instances: 1}
				if strings.HasPrefix(tc.name, "memory-") {
					limits.Memory = 2 << 20
				}
				before := takeStock(t, h)
				p := load(t, h, tc.name, host.PluginConfig{State: state, Limits: limits})
				for range 2 {
					checkBadCall(t, p, tc.reason, `plugin "`+tc.name+`": `+tc.want)
					checkNextCall(t, p)
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
				checkStock(t, h, before)
			})
		}
	}
}

// checkBadCall runs the plugin and checks the error, the time and that the items are as before.
func checkBadCall(t *testing.T, p *host.Plugin, reason abi.Reason, want string) {
	t.Helper()
	op, limit := p.Spec().Operations[0].Operation, badLimit
	if reason == abi.ReasonTimeout {
		limit = badTime
	}
	step, err := newStep(p, op, host.OperationOptions{Step: "bad", Timeout: limit})
	if err != nil {
		t.Fatal(err)
	}
	items := twoRows()
	began := time.Now()
	_, got := step.Run(t.Context(), &abi.Query{Text: "q"}, items)
	checkTime(t, time.Since(began), limit, reason == abi.ReasonTimeout)

	perr := checkReason(t, got, reason)
	if perr.Error() != want {
		t.Errorf("error %s\nwant  %s", perr, want)
	}
	if perr.Step != "bad" || perr.Operation != op {
		t.Errorf("step %q, operation %s", perr.Step, perr.Operation)
	}
	if errors.Is(got, context.DeadlineExceeded) != (reason == abi.ReasonTimeout) {
		t.Errorf("errors.Is(context.DeadlineExceeded) is wrong for %s", reason)
	}
	if !reflect.DeepEqual(items, twoRows()) {
		t.Errorf("the items became %v", items)
	}
}

// checkNextCall calls what every plugin exports and what does nothing: the call must
// find nothing of the one before it.
func checkNextCall(t *testing.T, p *host.Plugin) {
	t.Helper()
	r, err := p.Call(t.Context(), abi.Marker, nil)
	if err != nil {
		t.Fatalf("the next call: %v", err)
	}
	if start := int64(p.Spec().MemoryPages) << 16; len(r.Output) != 0 || r.Log != "" || r.Memory != start {
		t.Errorf("the next call: output %q, log %q, memory of %d bytes (want none, and %d)", r.Output, r.Log, r.Memory, start)
	}
}

// checkOtherPlugin loads a plugin of the host that behaves, and calls it.
func checkOtherPlugin(t *testing.T, h *host.Host) {
	t.Helper()
	p := load(t, h, "keep-first", host.PluginConfig{})
	s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.Run(t.Context(), nothing, twoRows()); err != nil || len(out) != 1 || out[0].ID != "a" {
		t.Errorf("another plugin: items %v, error %v", out, err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A trap tells where in the guest it happened.
func TestTrapStack(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "trap-in-named", host.PluginConfig{})
	s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Run(t.Context(), nothing, twoRows())
	perr := checkReason(t, err, abi.ReasonTrap)
	if !strings.Contains(perr.Stack, "divide(i32) i32") || !strings.Contains(perr.Stack, "filter() i32") || !strings.Contains(fmt.Sprintf("%+v", err), "divide") {
		t.Errorf("stack:\n%s", perr.Stack)
	}
}

// A guest that grows with each call is replaced before it is full.
func TestGrowingInstancesAreReplaced(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "grow-each-call", host.PluginConfig{Limits: host.Limits{Memory: 4 << 20, Instances: 1}})
	s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if _, err := s.Run(t.Context(), nothing, twoRows()); err != nil {
			t.Fatal(err)
		}
		if _, memory := host.Usage(h); memory > 4<<20 {
			t.Fatalf("%d bytes of linear memory", memory)
		}
	}
}

func TestInputTooLarge(t *testing.T) {
	h := newHost(t, host.Config{})
	items := twoRows()
	items[0].Content = strings.Repeat("x", 10_000)
	for _, lane := range lanes {
		p := loadAllops(t, h, host.PluginConfig{Lane: lane, Limits: host.Limits{Input: 9_000}})
		s, err := newStep(p, abi.OpProcess, host.OperationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Run(t.Context(), nothing, items)
		if perr := checkReason(t, err, abi.ReasonInputTooLarge); !strings.Contains(perr.Error(), "allowed 9000 (raise limits.input") {
			t.Errorf("%s: error %v", lane, perr)
		}
	}
	p := load(t, h, "foreign", host.PluginConfig{Limits: host.Limits{Memory: 64 << 10}})
	_, err := p.Call(t.Context(), "echo", make([]byte, 100_000))
	if perr := checkReason(t, err, abi.ReasonInputTooLarge); !strings.Contains(perr.Error(), "does not fit into limits.memory") {
		t.Errorf("error %v", perr)
	}
}

// A plugin serves the next call after one that failed.
func TestInstanceIsReplacedAfterFailure(t *testing.T) {
	h := newHost(t, host.Config{})
	p := loadAllops(t, h, host.PluginConfig{Limits: host.Limits{Instances: 1}})
	bad, err := newStep(p, abi.OpProcess, host.OperationOptions{Settings: map[string]any{"mode": "exit"}})
	if err != nil {
		t.Fatal(err)
	}
	good, err := newStep(p, abi.OpRetrieve, host.OperationOptions{TopK: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := bad.Run(t.Context(), &abi.Query{}, nil); err == nil {
			t.Fatal("exit passed")
		}
		out, err := good.Run(t.Context(), &abi.Query{Text: "q"}, nil)
		if err != nil || len(out) != 1 {
			t.Fatal(out, err)
		}
	}
}

// badLoads are fixtures that do not load, with the full message: their code is refused, or
// their init fails where no kind is named.
var badLoads = []struct {
	name string
	kind error
	want string
}{
	{"exports-fuel", host.ErrNotWasm, `reserved name: export "anchor:fuel", which belongs to the host (rename the export)`},
	{"init-fails", nil, `init: init_failed: trap: unreachable ` + isAFault},
	{"init-recurses", nil, `init: init_failed: trap: stack overflow: ` + nestsTooDeep()},
	{"start-recurses", nil, `init: init_failed: trap: stack overflow: ` + nestsTooDeep()},
	{"initialize-spins", nil, `init: init_failed: timeout: not done within 100ms ` + atInit},
	{"init-spins", nil, `init: init_failed: timeout: not done within 100ms ` + atInit},
	{"start-spins", nil, `init: init_failed: timeout: not done within 100ms ` + atInit},
	{"mailbox-room-out-of-bounds", nil, `init: init_failed: invalid_output: mailbox states an input buffer 64+4294967295 beyond the memory of 65536 bytes`},
}

func TestBadLoads(t *testing.T) {
	h := newHost(t, host.Config{})
	checkOtherPlugin(t, h)
	for _, tc := range badLoads {
		t.Run(tc.name, func(t *testing.T) {
			limit := badLimit // what ends by itself has its time, on a busy machine too
			if strings.HasSuffix(tc.name, "-spins") {
				limit = badTime
			}
			before, began := takeStock(t, h), time.Now()
			_, err := h.Load(t.Context(), fixture(t, tc.name).Spec, host.PluginConfig{Limits: host.Limits{InitTimeout: limit}})
			checkTime(t, time.Since(began), limit, limit == badTime)
			if tc.kind == nil {
				err = checkReason(t, err, abi.ReasonInitFailed)
			} else if !errors.Is(err, tc.kind) {
				t.Errorf("error %v is not %v", err, tc.kind)
			}
			if want := `plugin "` + tc.name + `": ` + tc.want; err == nil || err.Error() != want {
				t.Errorf("error %v\nwant  %s", err, want)
			}
			checkOtherPlugin(t, h)
			checkStock(t, h, before)
		})
	}
}

// Fixtures that must work.
func TestGoodCalls(t *testing.T) {
	h := newHost(t, host.Config{})
	for name, want := range map[string]string{
		"no-change": "a b", "batch-no-change": "a b", "wild-handles": "a b", "keep-first": "a", "batch-keep-first": "a",
		"add-item": "a b add-item:a: an item from a guest of retrieval, 5 tokens, score 0.5, priority 5",
	} {
		t.Run(name, func(t *testing.T) {
			p := load(t, h, name, host.PluginConfig{})
			step, err := newStep(p, p.Spec().Operations[0].Operation, host.OperationOptions{})
			if err != nil {
				t.Fatal(err)
			}
			items, err := step.Run(t.Context(), &abi.Query{Text: "q"}, twoRows())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, it := range items {
				if i >= 2 || it.Content != twoRows()[i].Content {
					it.ID = fmt.Sprintf("%s: %s of %s, %d tokens, score %v, priority %d", it.ID, it.Content, it.Source, it.TokenCount, it.Score, it.Priority)
				}
				got = append(got, it.ID)
			}
			if got := strings.Join(got, " "); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestTimeoutSaysWhere: a timeout has the stack of the guest, or says what the host waited for.
func TestTimeoutSaysWhere(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	p := load(t, h, "spin-forever", host.PluginConfig{Limits: host.Limits{Timeout: badTime}})
	_, err := p.Call(t.Context(), "anchor_filter", nil)
	if perr := checkReason(t, err, abi.ReasonTimeout); !strings.Contains(perr.Stack, "() i32") {
		t.Errorf("stack %q", perr.Stack)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	origin := "http://" + listener.Addr().String()
	p = load(t, h, "foreign-http", host.PluginConfig{Limits: host.Limits{Timeout: badTime},
		Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{origin}, Methods: []string{"GET"}, Private: true}}})
	_, err = p.Call(t.Context(), "get", []byte(`{"url":"`+origin+`/secret?key=1"}`))
	if perr := checkReason(t, err, abi.ReasonTimeout); !strings.Contains(perr.Error(), "not done within 100ms: it waited for an HTTP answer of "+origin+" (") {
		t.Errorf("error %v", perr)
	}
}

// A plugin that keeps its state is told to the operator when it loses it: its memory grew too far,
// or a call failed.
func TestLostStateIsLogged(t *testing.T) {
	var log bytes.Buffer
	h := newHost(t, host.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	grown := load(t, h, "grow-each-call", host.PluginConfig{Name: "grown", State: host.StateKeep, Limits: host.Limits{Memory: 4 << 20, Instances: 1}})
	filter := calls(t, grown, abi.OpFilter)
	for range 80 {
		if err := filter(); err != nil {
			break
		}
	}
	if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "plugin=grown") || !strings.Contains(text, "is lost") || !strings.Contains(text, "memory has grown") {
		t.Errorf("the log says %q", text)
	}
	log.Reset()
	failed := load(t, h, "trap", host.PluginConfig{Name: "failed", State: host.StateKeep, Limits: host.Limits{Instances: 1}})
	if err := calls(t, failed, abi.OpFilter)(); err == nil {
		t.Fatal("trap passed")
	}
	if text := log.String(); !strings.Contains(text, "is lost") || !strings.Contains(text, "the call failed") {
		t.Errorf("the log says %q", text)
	}
}
