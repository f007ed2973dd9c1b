package authoring

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

// Every operation that is called has a request, the same each time, which can be
// read back from its document.
func TestRequests(t *testing.T) {
	for _, info := range abi.Operations {
		t.Run(string(info.Op), func(t *testing.T) {
			r := Request(info.Op, 3)
			if info.Op == abi.OpInit {
				if r != nil {
					t.Errorf("init is no call, and has %+v", r)
				}
				return
			}
			if r == nil {
				t.Fatalf("Request in request.go has no case for %s", info.Request)
			}
			if !reflect.DeepEqual(r, Request(info.Op, 3)) {
				t.Fatalf("%+v is not the same each time", r)
			}
			want := 3
			if info.Request == "QueryRequest" || info.Request == "Event" {
				want = 1
			}
			if got := RequestItems(r); got != want {
				t.Errorf("%d items, want %d", got, want)
			}
			*RequestSettings(r) = json.RawMessage(`{"a":1}`)
			doc, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			back, err := ReadRequest(info.Op, doc)
			if err != nil || !reflect.DeepEqual(back, r) {
				t.Errorf("read back %+v, %v", back, err)
			}
			if _, err := ReadRequest(info.Op, []byte("[]")); err == nil {
				t.Error("a list was taken for a request")
			}
		})
	}
	if _, err := ReadRequest(abi.OpInit, []byte("{}")); err == nil {
		t.Error("init has a request")
	}
}

// The tokens that an answer adds are those of its new texts, less what they
// replace.
func TestTexts(t *testing.T) {
	text := "new"
	items := &abi.ItemsRequest{Query: abi.Query{Text: "q"}, Items: []abi.Item{{Content: "old"}}}
	for _, c := range []struct {
		name            string
		request, reply  any
		added, replaced []string
	}{
		{"no answer", items, nil, nil, nil},
		{"rows that go", items, &abi.Changes{Keep: []uint32{}}, nil, nil},
		{"new items and edits", items, &abi.Changes{Items: []abi.NewItem{{Content: "more"}}, Edits: []abi.Edit{{Content: &text}, {}}},
			[]string{"more", "new"}, []string{"old"}},
		{"memory", items, &abi.MemoryReply{Items: []abi.NewItem{{Content: "more"}}}, []string{"more"}, nil},
		{"summary", &abi.CompactRequest{}, &abi.CompactReply{Summary: "s"}, []string{"s"}, nil},
		{"query", items, &abi.EnrichReply{QueryText: "q and more"}, []string{"q and more"}, []string{"q"}},
		{"observations", &abi.DistillRequest{}, &abi.DistillReply{Replace: []string{"r"}, Add: []string{"a"}}, []string{"r", "a"}, nil},
		{"facts", &abi.ExtractRequest{}, &abi.ExtractReply{Add: []abi.NewFact{{Content: "a"}}, Update: []abi.FactEdit{{ID: "i", Content: "u"}}, Remove: []string{"r"}}, []string{"a", "u"}, nil},
		{"no change of messages", &abi.ProvideRequest{Messages: []abi.Message{{Content: "m"}}}, &abi.ProvideReply{}, nil, nil},
		{"messages", &abi.ProvideRequest{Messages: []abi.Message{{Content: "m"}}}, &abi.ProvideReply{Messages: []abi.Message{{Content: "n"}}},
			[]string{"n"}, []string{"m"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			added, replaced, err := texts(c.request, c.reply)
			if err != nil || !reflect.DeepEqual(added, c.added) || !reflect.DeepEqual(replaced, c.replaced) {
				t.Errorf("added %q, replaced %q, %v; want %q, %q", added, replaced, err, c.added, c.replaced)
			}
		})
	}
	if _, _, err := texts(items, &abi.Changes{Edits: []abi.Edit{{Row: 1, Content: &text}}}); err == nil {
		t.Error("an edit of a row that does not exist was taken")
	}
}

func TestCompare(t *testing.T) {
	card := func(change func(*Card)) *Card {
		c := &Card{Operation: abi.OpFilter, Input: "generated", Items: 10, State: "reset", Rows: []Cost{
			{Lane: "json", P50: 100, P95: 200, Fuel: 1000, Memory: 1 << 20, In: 100, Out: 10},
		}}
		if change != nil {
			change(c)
		}
		return c
	}
	worse := func(now *Card) (names []string) {
		ratios, err := Compare(card(nil), now)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range ratios {
			if r.Worse {
				names = append(names, r.Figure)
			}
		}
		return names
	}
	for _, c := range []struct {
		name   string
		change func(*Card)
		want   []string
	}{
		{"the same", nil, nil},
		{"better", func(c *Card) { c.Rows[0].P50, c.Rows[0].Fuel = 50, 500 }, nil},
		{"noise", func(c *Card) { c.Rows[0].P50, c.Rows[0].P95, c.Rows[0].Fuel = 124, 299, 1019 }, nil},
		{"slower", func(c *Card) { c.Rows[0].P50, c.Rows[0].P95 = 126, 301 }, []string{"p50", "p95"}},
		{"more fuel and memory", func(c *Card) { c.Rows[0].Fuel, c.Rows[0].Memory = 1021, 2<<20 }, []string{"fuel", "memory"}},
		{"tokens where there were none", func(c *Card) { c.Rows[0].Tokens = 1 }, []string{"tokens"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := worse(card(c.change)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("worse: %v, want %v", got, c.want)
			}
		})
	}
	for _, change := range []func(*Card){
		func(c *Card) { c.Operation = abi.OpRerank }, func(c *Card) { c.Items = 11 }, func(c *Card) { c.Input = "x.json" },
		func(c *Card) { c.State = "keep" }, func(c *Card) { c.Rows[0].Lane = "batch" },
	} {
		if _, err := Compare(card(nil), card(change)); err == nil {
			t.Errorf("compared with %+v", card(change))
		}
	}
}
