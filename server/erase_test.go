package server

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
)

// What was stored of a user is in none of the files of the store when the user was deleted.
func TestDeletedUserIsInNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := startWith(t, "tokenizer: words\nconversation: {}\n", anchor.Options{Overrides: map[string]string{"store.path": filepath.Join(dir, "store.db")}}, Options{Unwatched: true})
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
