package keys_test

import (
	"io"
	"net/http/httptest"
	"testing"

	"github.com/anchor-host/anchor-host/server/keys"
	"github.com/anchor-host/anchor-host/server/quota"
)

// unread is a body that nobody may read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body of a request that is refused is read")
	return 0, io.EOF
}

// Requests whose bodies never come use up the rate of their key, and those beyond it are refused before
// their body is read.
func TestUploadsUseTheRate(t *testing.T) {
	s := serveWatching(t, false)
	key := s.key("small", keys.Scopes)
	err := keys.Edit(t.Context(), s.file, func(f *keys.File) error {
		f.Tenants = map[string]quota.Limits{"small": {RequestsPerSecond: 0.001}}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.Reload(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{400, 429, 429} {
		body := io.Reader(unread{t})
		if i == 0 {
			body = io.MultiReader() // it ends before it has begun
		}
		r := httptest.NewRequest("POST", "/v1/builds", io.NopCloser(body))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		r.ContentLength = 1 << 20
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%d: %d %s", i, w.Code, w.Body)
		}
	}
}
