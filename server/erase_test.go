package server

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
)

// What was stored of a user is in none of the files of the store when the user was deleted.
func TestDeletedUserIsInNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := startWith(t, "counting: {tokenizer: words}\nmemory: {conversation: {}}\n", anchor.Options{Overrides: map[string]string{"store.path": filepath.Join(dir, "store.db")}}, Options{Unwatched: true})
	if got := l.api("POST", "/v1/builds?user=ann&conversation=c&remember=true", `{"query": "the-secret-of-ann"}`); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	found := func() (n int) {
		files, err := filepath.Glob(filepath.Join(dir, "store.db*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			n += bytes.Count(data, []byte("the-secret-of-ann"))
		}
		return n
	}
	if found() == 0 {
		t.Fatal("the files have no turn")
	}
	if got := l.api("DELETE", "/v1/users/ann", ""); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if n := found(); n != 0 {
		t.Errorf("the files have the turn %d times", n)
	}
}

// The observers hear which conversations and runs a request has claimed for its user, once.
func TestClaimsAreObserved(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var heard []Claim
	l := start(t, "counting: {tokenizer: words}\nmemory: {conversation: {}, facts: {}}\nagent: {max_tokens: 100}\n", Options{Observers: []Observer{{
		OnRequest: func(ctx context.Context, _ *RequestInfo) (context.Context, func(*RequestInfo, Usage, error)) {
			return ctx, func(_ *RequestInfo, u Usage, _ error) {
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, u.Claims...)
			}
		},
	}}})
	for _, who := range []string{"", "ann", "ann", "bob"} {
		l.api("POST", "/v1/builds?conversation=c&user="+who, `{"query": "q"}`)
		l.api("POST", "/v1/builds?conversation=streamed&user="+who, `{"query": "q"}`, "Accept", "text/event-stream")
		l.api("POST", "/v1/assemble?run=r&user="+who, `{"messages": [{"role": "user", "content": "x"}]}`)
	}
	if err := l.stop(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []Claim{{"conversation", "c"}, {"conversation", "streamed"}, {"run", "r"}}; !slices.Equal(heard, want) {
		t.Errorf("heard %v, want %v", heard, want)
	}
}
