package conformance_test

import (
	"context"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/abi/manifest"
)

// library is a host and a guest in Go: a retriever in the JSON lane that finds
// the notes that have a word of the query.
type library struct {
	*fake
	notes []string
	// greedy makes it ignore top_k.
	greedy bool
}

// newLibrary makes a library of which ordinary queries find one note; the
// notes have a word in common.
func newLibrary(greedy bool) *library {
	f := newFake()
	f.manifest = &manifest.Manifest{ABI: 1, Name: "library", Version: "1.0.0",
		Operations: map[abi.Operation]manifest.OperationSpec{abi.OpRetrieve: {}}}
	return &library{fake: f, notes: []string{"one lonely fox", "one river", "one boat"}, greedy: greedy}
}

func (l *library) Describe() conformance.Description {
	writes, _ := abi.ChangesOf([]abi.Change{abi.ChangeItems}) // known
	return conformance.Description{Manifest: l.manifest, Operations: []conformance.Operation{
		{Operation: abi.OpRetrieve, Lanes: []string{conformance.JSON}, Writes: writes}}}
}

func (l *library) Load(context.Context, conformance.LoadOptions) (conformance.Guest, error) {
	return l, nil
}

func (l *library) Close(context.Context) error { return nil }

func (l *library) Call(_ context.Context, c conformance.Call) (*conformance.Answer, error) {
	req, err := abi.DecodeItemsRequest(c.Request)
	if err != nil {
		return nil, err
	}
	changes := &abi.Changes{}
	for _, note := range l.notes {
		if (l.greedy || len(changes.Items) < req.TopK) && alike(note, req.Query.Text) {
			changes.Items = append(changes.Items, abi.NewItem{Content: note, Score: 0.5})
		}
	}
	a := &conformance.Answer{Memory: 1 << 16}
	a.Output, err = abi.AppendChangesJSON(nil, changes)
	return a, err
}

// alike says whether two texts have a word in common.
func alike(a, b string) bool {
	for _, w := range strings.Fields(a) {
		if strings.Contains(" "+b+" ", " "+w+" ") {
			return true
		}
	}
	return false
}
