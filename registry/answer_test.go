package registry

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestRemedies has a registry give no usable answer, and looks for what to do.
func TestRemedies(t *testing.T) {
	a := pack(t, "1.0.0", 100_000)
	all := func(answer http.HandlerFunc) func(f *fake) {
		return func(f *fake) {
			f.before = func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true }
		}
	}
	for name, each := range map[string]struct {
		set  func(f *fake)
		want string
	}{
		"nobody there": {func(f *fake) { f.Close() }, "connection refused " + remedy},
		"hangs up":     {all(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), "EOF " + remedy},
		"broken":       {all(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }), "answers 500 Internal Server Error " + remedy},
		"stalls":       {all(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), "no byte came or went for 200ms " + remedy},
		"stalls in the layer": {func(f *fake) {
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, a.ModuleDigest) {
					return false
				}
				w.Header().Set("Content-Length", itoa(len(a.Module)))
				w.(http.Flusher).Flush()
				<-r.Context().Done()
				return true
			}
		}, "no byte came or went for 200ms " + remedy},
		"a portal": {all(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "\n<!DOCTYPE html>") }), "answers with a web page"},
	} {
		f := newFake(t)
		hold(f, "1", a)
		c := newClient(t, Options{})
		if _, err := c.Tags(t.Context(), f.ref("")); err != nil { // the host is known
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "stalls") { // others have their time
			c.net.Stall = 200 * time.Millisecond
		}
		each.set(f)
		for _, ref := range []Reference{f.ref("1"), f.ref("1").At(a.Digest)} {
			_, err := c.Pull(t.Context(), ref)
			if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), each.want) || strings.Count(err.Error(), remedy) > 1 {
				t.Errorf("%s: pull %s: %v", name, ref, err)
			}
		}
		if _, err := c.Tags(t.Context(), f.ref("")); !strings.Contains(name, "layer") && (!errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), each.want)) {
			t.Errorf("%s: tags: %v", name, err)
		}
	}
}

// TestPushRemedy pushes to a registry that is down: what is cached does not help.
func TestPushRemedy(t *testing.T) {
	a := pack(t, "1.0.0", 0)
	for name, set := range map[string]func(f *fake){
		"nobody there": func(f *fake) { f.Close() },
		"broken": func(f *fake) {
			f.before = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true }
		},
		"broken for uploads": func(f *fake) {
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					w.WriteHeader(http.StatusBadGateway)
				}
				return r.Method == http.MethodPost
			}
		},
	} {
		f := newFake(t)
		hold(f, "1", a)
		c := newClient(t, Options{})
		if _, err := c.Pull(t.Context(), f.ref("1")); err != nil {
			t.Fatal(err)
		}
		delete(f.blobs, a.ModuleDigest)
		set(f)
		_, push := c.Push(t.Context(), f.ref("2"), a, PushOptions{})
		_, attach := c.Attach(t.Context(), f.ref("1").At(a.Digest), Attachment{Type: TypeReadme, Data: []byte("x")})
		for what, err := range map[string]error{"push": push, "attach": attach} {
			if !errors.Is(err, ErrUnreachable) || !strings.HasSuffix(err.Error(), " "+pushRemedy) || strings.Contains(err.Error(), "--offline") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}
