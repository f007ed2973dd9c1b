package request

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
)

func ExampleRead() {
	doc := `{"query": "how do deadlines work", "window": {"max_tokens": 4000}, "items": [{"content": "a deadline ends a context", "source": "retrieval", "score": 0.9}]}`
	req, c, err := Read(context.Background(), "request.json", []byte(doc), config.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	item := Convert(req.Items)[0]
	fmt.Println(c.MaxTokens, req.Query.Query.Text, item.Priority, item.ID)

	_, _, err = Read(context.Background(), "request.json", []byte(`{"qurey": "x"}`), config.Default())
	fmt.Println(err)
	// Output:
	// 4000 how do deadlines work 5 item-9c04f54f649f353a
	// request.json:1:1: missing key "query"
	// request.json:1:2: qurey: unknown key (did you mean "query"?)
}

func TestBaseInstancesCanBeUsed(t *testing.T) {
	base := config.Default()
	base.Config = config.Config{Plugins: config.Plugins{Instances: map[string]config.Instance{"docs": {Plugin: "bm25"}}}}
	doc := `{"query": "q", "steps": [{"name": "a", "use": "docs"}]}`
	if _, _, err := Read(context.Background(), "r", []byte(doc), base); err != nil {
		t.Error(err)
	}
}

func TestNullIsNoItem(t *testing.T) {
	_, _, err := Read(context.Background(), "r", []byte(`{"query": "q", "items": [null]}`), config.Default())
	want := "r:1:26: items[0]: missing key \"content\"\nr:1:26: items[0]: missing key \"source\""
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNullIsNoDocument(t *testing.T) {
	const want = "r:1:1: want a map, got null"
	_, _, err := Read(context.Background(), "r", []byte("null"), config.Default())
	_, itemsErr := ReadItems("r", strings.NewReader("null"))
	_, messagesErr := ReadMessages(t.Context(), "r", []byte("null"), 100)
	for _, err := range []error{err, itemsErr, messagesErr} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestTooLarge(t *testing.T) {
	_, _, err := Read(context.Background(), "r", []byte(strings.Repeat(" ", MaxBytes+1)), config.Default())
	if err == nil || err.Error() != "invalid: r: larger than 64 MiB" {
		t.Errorf("got %v", err)
	}
}

// The invariant: a request or an error, and what is accepted becomes valid
// items.
func FuzzRead(f *testing.F) {
	f.Add(`{"query": "q", "items": [{"content": "x", "source": "user"}], "steps": [{"name": "a", "use": "sort"}]}`)
	f.Add(`{"query": {"query_str": "q", "chat_history": [{"role": "user", "content": "x"}]}, "window": {"budget": {"preset": "rag"}}}`)
	f.Add(`{"query": "q"} x`)
	f.Add(`{"query": "q", "items": [null]}`)
	f.Fuzz(func(t *testing.T, doc string) {
		req, c, err := Read(context.Background(), "r", []byte(doc), config.Default())
		if (req == nil) == (err == nil) || (c == nil) == (err == nil) {
			t.Fatalf("request %v, config %v, error %v", req, c, err)
		}
		if err != nil {
			return
		}
		for _, it := range Convert(req.Items) {
			if err := it.Validate(); err != nil {
				t.Fatal(err)
			}
			if it.Priority < pipeline.MinPriority {
				t.Fatalf("item without defaults: %+v", it)
			}
		}
	})
}

func TestRequestNamesNoFile(t *testing.T) {
	doc := `{"query": "x", "window": {"max_tokens": 10}, "counting": {"tokenizer": {"file": "/etc/passwd"}}}`
	if _, _, err := Read(context.Background(), "request", []byte(doc), config.Default()); err == nil || !strings.Contains(err.Error(), "cannot name a file") {
		t.Error(err)
	}
}
