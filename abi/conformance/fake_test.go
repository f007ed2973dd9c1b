package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/abi/manifest"
)

// fake is a host and a guest in Go: a filter that keeps the rows whose text has
// the word "fox", in both lanes, with faults that no sandboxed guest has.
type fake struct {
	manifest *manifest.Manifest
	loads    atomic.Int32
	// secondStart makes every start but the first keep all rows.
	secondStart bool
	// deaf makes calls of many rows last longer after they are cancelled.
	deaf bool
	// escapes makes the JSON lane take texts with control characters for empty.
	escapes bool
	// boxedOnly makes the JSON lane take every request in the Extism input for empty.
	boxedOnly bool
	// but makes it keep every row but those with this word.
	but string
	// fail is the error of every call.
	fail error
	// remembers is that of the description.
	remembers bool
	// unused is that of the operation.
	unused string
	// refuseLarge refuses an item of 10 MB.
	refuseLarge bool
	// full is which start of a guest that does not keep its state fails, 0 for none.
	full int32
	// meeting, unless it is nil, makes the first call with 10 MB wait for a call of another guest,
	// which closes it. met says that it came.
	meeting chan struct{}
	waits   atomic.Pointer[fakeGuest]
	once    sync.Once
	met     atomic.Bool
}

// meet makes guests meet.
func (g *fakeGuest) meet(size int) {
	switch first := g.waits.Load(); {
	case g.meeting == nil:
	case size > 9_000_000 && first == nil:
		g.waits.Store(g)
		select {
		case <-g.meeting:
			g.met.Store(true)
		case <-time.After(time.Minute):
		}
	case first != nil && first != g:
		g.once.Do(func() { close(g.meeting) })
	}
}

// deafGrace is the grace of the run with a deaf host.
const deafGrace = 200 * time.Millisecond

func newFake() *fake {
	return &fake{manifest: &manifest.Manifest{ABI: 1, Name: "fake", Version: "1.0.0",
		Operations: map[abi.Operation]manifest.OperationSpec{abi.OpInit: {}, abi.OpFilter: {Reads: []string{"text"}}}}}
}

func (f *fake) Describe() conformance.Description {
	reads := abi.ColumnSet(0).With(abi.ColumnText)
	writes, _ := abi.ChangesOf([]abi.Change{abi.ChangeKeep}) // known
	return conformance.Description{Manifest: f.manifest, Remembers: f.remembers, Operations: []conformance.Operation{
		{Operation: abi.OpFilter, Lanes: []string{conformance.JSON, conformance.Batch}, Unused: f.unused, Reads: reads, Writes: writes}}}
}

func (f *fake) Settings(_ abi.Operation, settings map[string]any) (json.RawMessage, error) {
	if len(settings) > 0 {
		return nil, errors.New("there are no settings")
	}
	return nil, nil
}

func (f *fake) Load(_ context.Context, o conformance.LoadOptions) (conformance.Guest, error) {
	if o.Keep {
		return &fakeGuest{fake: f}, nil
	}
	n := f.loads.Add(1)
	if n == f.full {
		return nil, errors.New("there is no room")
	}
	return &fakeGuest{fake: f, keepAll: f.secondStart && n > 1}, nil
}

type fakeGuest struct {
	*fake
	keepAll bool
}

func (g *fakeGuest) Close(context.Context) error { return nil }

func (g *fakeGuest) Call(ctx context.Context, c conformance.Call) (*conformance.Answer, error) {
	if g.fail != nil {
		return nil, g.fail
	}
	g.meet(len(c.Request))
	if g.refuseLarge && len(c.Request) > 9_000_000 {
		return nil, reasonError(abi.ReasonInputTooLarge)
	}
	texts, err := texts(c)
	if err != nil {
		return nil, err
	}
	if g.deaf && len(texts) > 1000 && c.Lane == conformance.JSON {
		select {
		case <-ctx.Done():
			<-time.After(4 * deafGrace)
		case <-time.After(5 * deafGrace): // half of it lies between being cancelled and this
		}
	}
	changes := &abi.Changes{Keep: []uint32{}}
	for i, t := range texts {
		if g.boxedOnly && c.Extism {
			continue
		}
		if g.escapes && c.Lane == conformance.JSON && strings.ContainsFunc(t, unicode.IsControl) {
			continue
		}
		if g.but != "" && !strings.Contains(t, g.but) || g.keepAll || strings.Contains(t, "fox") || strings.Contains(t, "\x1b") {
			changes.Keep = append(changes.Keep, uint32(i))
		}
	}
	a := &conformance.Answer{Memory: 1 << 16}
	if c.Lane == conformance.Batch {
		a.Output, err = abi.AppendChanges(nil, changes)
	} else {
		a.Output, err = abi.AppendChangesJSON(nil, changes)
	}
	return a, err
}

func texts(c conformance.Call) (list []string, err error) {
	if c.Lane == conformance.JSON {
		req, err := abi.DecodeItemsRequest(c.Request)
		if err != nil {
			return nil, err
		}
		for _, it := range req.Items {
			list = append(list, it.Content)
		}
		return list, nil
	}
	b, err := abi.OpenBatch(c.Request)
	if err != nil {
		return nil, err
	}
	for i := range b.Len() {
		list = append(list, b.Text(i))
	}
	return list, nil
}
