//go:build unix

package failurescmd_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/failurescmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
)

// Whatever answers in the place of a host, the command says what is wrong, sends the key nowhere else, and
// prints no control characters.
func TestHostileHosts(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked elsewhere, with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	answers := map[string]func(w http.ResponseWriter){
		"redirect": func(w http.ResponseWriter) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusFound)
		},
		"refused": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"no \u001b[31mkey","remedy":"send one"}}`)
		},
		"text":   func(w http.ResponseWriter) { fmt.Fprint(w, "hello") },
		"broken": func(w http.ResponseWriter) { fmt.Fprint(w, `{"failures":[{"id":`) },
		"flood": func(w http.ResponseWriter) {
			for range 40 {
				fmt.Fprint(w, strings.Repeat(" ", 1<<20))
			}
		},
		"odd": func(w http.ResponseWriter) {
			fmt.Fprint(w, `{"failures":[{"id":1,"plugin":"p\u001b[2J","text":"a\nb","repeat":["x\ny; rm z"],"case":{"name":"n"}}]}`)
		},
	}
	wants := map[string]string{
		"redirect": "status 302", "refused": "give a key with --key", "text": "no list of failures", "broken": "no list of failures", "flood": "more than", "odd": "saved failure 1",
	}
	t.Setenv("THE_KEY", "key-1234")
	for name, answer := range answers {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer key-1234" || r.URL.EscapedPath() != "/v1/plugins/a%2Fb/failures" {
				t.Errorf("%s: %s with %q", name, r.URL, r.Header.Get("Authorization"))
			}
			answer(w)
		}))
		file := filepath.Join(t.TempDir(), "a case.json")
		code, stdout, stderr := clitest.Run(t.Context(), failurescmd.Command, "", "failures", "a/b", "--url", s.URL, "--key", "${env:THE_KEY}", "--save", file)
		s.Close()
		if good := name == "odd"; (code == cli.CodeOK) != good || !strings.Contains(stderr, wants[name]) || strings.ContainsAny(stdout+stderr, "\x1b") || strings.Contains(stderr, "key-1234") {
			t.Errorf("%s: code %d, %q %q, want %q", name, code, stdout, stderr, wants[name])
		}
		if info, err := os.Stat(file); (err == nil) != (name == "odd") || err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: the file: %v", name, err)
		}
		if name == "odd" && (!strings.Contains(stderr, "'"+file+"'") || !strings.Contains(stderr, "; rm z' --request")) {
			t.Errorf("the command is not quoted: %s", stderr)
		}
	}
	for _, url := range []string{"ftp://x", "http://", "http://user:pass@x", "://", "http://x?a=b"} {
		if code, _, _ := clitest.Run(t.Context(), failurescmd.Command, "", "failures", "--url", url); code != cli.CodeUsage {
			t.Errorf("%s: code %d", url, code)
		}
	}
}
