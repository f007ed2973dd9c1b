package pdk_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
)

var created = time.Date(2025, 5, 4, 3, 2, 1, 0, time.UTC)

func request(t testing.TB) *pdk.Request {
	t.Helper()
	b, err := abi.BatchOf(&abi.ItemsRequest{
		Query: abi.Query{Text: "hello", Metadata: abi.Metadata{"lang": "en"}},
		TopK:  5, TokensLeft: 100, Settings: json.RawMessage(`{"a":1}`),
		Items: []abi.Item{
			{ID: "a", Content: "first", Source: "retrieval", Score: 0.5, Priority: 5, TokenCount: 2, CreatedAt: created},
			{ID: "b", Content: "second", Metadata: abi.Metadata{
				"s": "text", "i": 7, "f": 0.25, "b": true, "t": "2025-05-04T03:02:01Z", "n": nil,
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return pdk.NewRequest(b)
}

func ExampleItems_All() {
	b, err := abi.BatchOf(&abi.ItemsRequest{Items: []abi.Item{{Content: "one"}, {Content: "two"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for it := range pdk.NewRequest(b).Items.All() {
		fmt.Println(it.Row(), it.Text())
	}
	// Output:
	// 0 one
	// 1 two
}

func TestRequest(t *testing.T) {
	r := request(t)
	if r.TopK != 5 || r.TokensLeft != 100 || string(r.Items.Settings()) != `{"a":1}` {
		t.Errorf("top_k %d, tokens_left %d, settings %s", r.TopK, r.TokensLeft, r.Items.Settings())
	}
	if q := r.Query(); q.Text != "hello" || q.Metadata["lang"] != "en" || q != r.Query() || r.Err() != nil {
		t.Errorf("query %+v, %v", q, r.Err())
	}
	for range r.Items.All() {
		break // an early end must not go on
	}
	it := r.Items.At(0)
	got := fmt.Sprintln(it.Row(), it.ID(), it.Text(), it.Source(), it.Score(), it.Priority(), it.TokenCount(), it.CreatedAt().Equal(created), len(it.Metadata()))
	if want := "0 a first retrieval 0.5 5 2 true 0\n"; got != want {
		t.Errorf("item %s, want %s", got, want)
	}
}

func TestMetadataByKind(t *testing.T) {
	it := request(t).Items.At(1)
	for _, key := range []string{"s", "i", "f", "b", "t", "n", "absent"} {
		got := ""
		if v, ok := it.MetaString(key); ok {
			got += "string " + v
		}
		if v, ok := it.MetaInt(key); ok {
			got += fmt.Sprint("int ", v)
		}
		if v, ok := it.MetaFloat(key); ok {
			got += fmt.Sprint("float ", v)
		}
		if v, ok := it.MetaBool(key); ok {
			got += fmt.Sprint("bool ", v)
		}
		if v, ok := it.MetaTime(key); ok {
			got += fmt.Sprint("time ", v.Equal(created))
		}
		want := map[string]string{"s": "string text", "i": "int 7float 7", "f": "float 0.25", "b": "bool true", "t": "string 2025-05-04T03:02:01Ztime true"}[key]
		if got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

func TestQueryThatDoesNotDecodeIsEmptyAndAnError(t *testing.T) {
	var w abi.BatchWriter
	size, err := w.Plan(nil, 0, &abi.Envelope{Query: &abi.Query{Text: "q", Metadata: abi.Metadata{"k": "v"}}})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, size)
	if err := w.Write(buf); err != nil {
		t.Fatal(err)
	}
	b, err := abi.OpenBatch([]byte(strings.Replace(string(buf), `{"k"`, `{ k"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	r := pdk.NewRequest(b)
	if q := r.Query(); q.Text != "" || r.Err() == nil {
		t.Errorf("query %+v, error %v", q, r.Err())
	}
}
