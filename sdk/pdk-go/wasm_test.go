package pdk_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/abi"
)

func TestFilterPluginExportsItsOwnFunctionsOnly(t *testing.T) {
	want := []string{"_initialize", "anchor_abi_1", "anchor_batch_filter", "anchor_filter", "anchor_mailbox", "anchor_reserve"}
	if got := names(exports(t, "keepbest")); !slices.Equal(got, want) {
		t.Errorf("exports\n%v, want\n%v", got, want)
	}
}

func TestEveryExportHasTheSignatureOfTheTable(t *testing.T) {
	got := exports(t, "all")
	delete(got, "_initialize")
	for _, want := range abi.Exports {
		sig, ok := got[want.Name]
		if !ok {
			t.Errorf("%s is not exported", want.Name)
		} else if !want.Is(sig.Params, sig.Results) {
			t.Errorf("%s is %s, want %s", want.Name, sig, want)
		}
		delete(got, want.Name)
	}
	if len(got) > 0 {
		t.Errorf("not in the table: %v", names(got))
	}
}

// scored returns a request with n rows whose scores rise from 0 to 1.
func scored(n int) *abi.ItemsRequest {
	req := &abi.ItemsRequest{Settings: json.RawMessage(`{"min":0.5}`)}
	for i := range n {
		req.Items = append(req.Items, abi.Item{Score: float64(i) / float64(n)})
	}
	return req
}

var scoreOnly = abi.ColumnSet(0).With(abi.ColumnScore)

func TestFilterAnswersAlikeInBothLanes(t *testing.T) {
	g := newGuest(t, "keepbest")
	req := scored(10)
	want := []uint32{5, 6, 7, 8, 9}

	status, bin := g.batch(abi.OpFilter, req, scoreOnly)
	got, err := abi.DecodeChanges(bin)
	if status != 0 || err != nil || !slices.Equal(got.Keep, want) {
		t.Errorf("batch lane: status %d, %v, %v %s", status, got, err, g.err)
	}
	in, err := abi.AppendItemsRequest(nil, abi.ItemRows(req.Items), scoreOnly, envelope(req))
	if err != nil {
		t.Fatal(err)
	}
	status, doc := g.document(abi.OpFilter, in)
	got, err = abi.DecodeChangesJSON([]byte(doc))
	if status != 0 || err != nil || !slices.Equal(got.Keep, want) {
		t.Errorf("JSON lane: status %d, %v, %v %s", status, got, err, g.err)
	}
	status, boxed := g.boxed(abi.OpFilter, in)
	if status != 0 || string(boxed) != doc || g.out != "" {
		t.Errorf("in the mailbox: status %d, %s and %q through Extism, want %s %s", status, boxed, g.out, doc, g.err)
	}
}

// A call that fails leaves nothing of the last answer.
func TestDocumentWithoutAnAnswer(t *testing.T) {
	g := newGuest(t, "keepbest")
	for _, call := range []struct {
		in     string
		status abi.Status
		out    bool
	}{
		{`{"items":[{"score":0},{"score":1}],"columns":["score"],"settings":{"min":0.5}}`, abi.StatusDone, true},
		{`{"items":[{"score":`, abi.StatusError, false},
	} {
		status, out := g.boxed(abi.OpFilter, []byte(call.in))
		if status != int32(call.status) || (len(out) > 0) != call.out || (g.err != "") != (call.status == abi.StatusError) {
			t.Errorf("%s: status %d, %q, %s", call.in, status, out, g.err)
		}
	}
}

func TestMemoryStaysFlat(t *testing.T) {
	g := newGuest(t, "keepbest")
	big, small := scored(1000), scored(20)
	in, err := abi.AppendItemsRequest(nil, abi.ItemRows(small.Items), scoreOnly, envelope(small))
	if err != nil {
		t.Fatal(err)
	}
	run := func(calls int) uint32 {
		for range calls {
			if status, _ := g.batch(abi.OpFilter, big, scoreOnly); status != 0 {
				t.Fatalf("batch lane: status %d: %s", status, g.err)
			}
			if status, _ := g.document(abi.OpFilter, in); status != 0 {
				t.Fatalf("JSON lane: status %d: %s", status, g.err)
			}
		}
		return g.mod.Memory().Size()
	}
	calls := 2000
	if os.Getenv("ANCHOR_THOROUGH") != "" {
		calls = 10_000
	}
	warm := run(1000)
	after := run(calls)
	// A heap may reach its final size late: less than 30 bytes for each call of a lane.
	if slack := uint32(2 * 26 * calls); after > warm+slack {
		t.Errorf("memory grew from %d to %d KiB in %d calls per lane, want at most %d KiB more", warm>>10, after>>10, calls, slack>>10)
	}
}

// TestGarbageIsCollectedUnderAFalseClock runs with wazero's default clock, which
// jumps a millisecond with each reading and leaves Go's collector stuck after
// about a hundred cycles.
func TestGarbageIsCollectedUnderAFalseClock(t *testing.T) {
	g := newGuestWith(t, "actions", wazero.NewModuleConfig())
	req := &abi.ItemsRequest{Items: []abi.Item{{}}, Settings: json.RawMessage(`{"do":"garbage"}`)}
	for range 2000 {
		if status, _ := g.batch(abi.OpProcess, req, 0); status != int32(abi.StatusNoChange) {
			t.Fatalf("status %d: %s", status, g.err)
		}
	}
	if size := g.mod.Memory().Size(); size > 96<<20 {
		t.Errorf("memory has %d MiB after 2,000 calls that each leave half a MiB of garbage", size>>20)
	}
}

func TestReserveRefusesTooMuch(t *testing.T) {
	g := newGuest(t, "keepbest")
	if ptr := g.call(abi.ReserveExport, abi.MaxBytes+1); ptr != 0 {
		t.Errorf("reserve answers %d, want 0", ptr)
	}
	if ptr := g.call(abi.ReserveExport, 0); ptr == 0 || ptr%8 != 0 {
		t.Errorf("reserve(0) answers %d, want an 8-aligned address", ptr)
	}
}

func TestBatchOutsideTheReservedBufferIsRefused(t *testing.T) {
	g := newGuest(t, "keepbest")
	ptr := uint64(uint32(g.call(abi.ReserveExport, 64)))
	for _, args := range [][]uint64{{ptr + 8, 64}, {ptr, 1 << 31}, {0, 0}, {1 << 31, 8}} {
		g.reset(nil)
		if status := g.call(abi.OpFilter.BatchExport(), args...); status != int32(abi.StatusError) || !strings.Contains(g.err, "reserved buffer") {
			t.Errorf("%v: status %d, error %q", args, status, g.err)
		}
	}
}

// BenchmarkGuestFilter measures what the guest's part of a score filter costs:
// one export call, without writing the batch and reading the changes.
func BenchmarkGuestFilter(b *testing.B) {
	g := newGuest(b, "keepbest")
	for _, rows := range []int{1, 1000} {
		b.Run(strconv.Itoa(rows), func(b *testing.B) { g.benchmark(b, scored(rows)) })
	}
}

func (g *guest) benchmark(b *testing.B, req *abi.ItemsRequest) {
	if status, _ := g.batch(abi.OpFilter, req, scoreOnly); status > int32(abi.StatusNoChange) {
		b.Fatal(g.err)
	}
	size, err := g.writer.Plan(abi.ItemRows(req.Items), scoreOnly, envelope(req))
	if err != nil {
		b.Fatal(err)
	}
	ptr := uint64(uint32(g.call(abi.ReserveExport, uint64(size))))
	f, stack := g.mod.ExportedFunction(abi.OpFilter.BatchExport()), make([]uint64, 2)
	b.ResetTimer()
	for range b.N {
		stack[0], stack[1] = ptr, uint64(size)
		if err := f.CallWithStack(context.Background(), stack); err != nil {
			b.Fatal(err)
		}
	}
}
