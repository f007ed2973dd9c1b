package registry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/registry/internal/image"
)

// fake is a small registry without the API for attachments.
type fake struct {
	*httptest.Server
	mu        sync.Mutex
	blobs     map[string][]byte
	manifests map[string][]byte // by tag and by digest
	types     map[string]string
	requests  []string
	// before may answer a request in place of the registry.
	before func(w http.ResponseWriter, r *http.Request) bool
}

func newFake(t testing.TB) *fake {
	f := &fake{blobs: map[string][]byte{}, manifests: map[string][]byte{}, types: map[string]string{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// ref returns a reference to the repository acme/p of the registry.
func (f *fake) ref(tag string) Reference {
	return Reference{Host: strings.TrimPrefix(strings.TrimPrefix(f.URL, "http://"), "https://"), Repository: "acme/p", Tag: tag}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	before := f.before
	f.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/v2/acme/p/")
	kind, name, _ := strings.Cut(path, "/")
	switch {
	case kind == "blobs" && strings.HasPrefix(name, "uploads/"):
		f.upload(w, r)
	case kind == "blobs":
		blob, ok := f.blobs[name]
		if !ok {
			http.Error(w, `{"errors":[{"code":"BLOB_UNKNOWN"}]}`, http.StatusNotFound)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(blob))
	case kind == "manifests" && r.Method == http.MethodPut:
		text, _ := io.ReadAll(r.Body)
		digest := image.DigestOf(text)
		for _, key := range []string{name, digest} {
			f.manifests[key], f.types[key] = text, r.Header.Get("Content-Type")
		}
		w.Header().Set("Docker-Content-Digest", digest)
		w.WriteHeader(http.StatusCreated)
	case kind == "manifests" && f.manifests[name] != nil:
		w.Header().Set("Content-Type", f.types[name])
		w.Header().Set("Docker-Content-Digest", image.DigestOf(f.manifests[name]))
		w.Header().Set("Content-Length", fmt.Sprint(len(f.manifests[name])))
		if r.Method == http.MethodGet {
			_, _ = w.Write(f.manifests[name])
		}
	case kind == "tags":
		fmt.Fprint(w, `{"name":"acme/p","tags":["1.0","1.1","../x"]}`)
	default:
		http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"no such thing"}]}`, http.StatusNotFound)
	}
}

func (f *fake) upload(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		w.Header().Set("Location", r.URL.Path+"1")
		w.WriteHeader(http.StatusAccepted)
		return
	}
	blob, err := io.ReadAll(r.Body)
	if want := r.URL.Query().Get("digest"); err != nil || image.DigestOf(blob) != want {
		http.Error(w, `{"errors":[{"code":"DIGEST_INVALID"}]}`, http.StatusBadRequest)
		return
	}
	f.blobs[image.DigestOf(blob)] = blob
	w.WriteHeader(http.StatusCreated)
}

// sent returns how many requests came, and forgets them.
func (f *fake) sent() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.requests)
	f.requests = nil
	return n
}

// put makes the registry hold a manifest under a tag, as it is.
func (f *fake) put(tag, mediaType string, text []byte) {
	for _, key := range []string{tag, image.DigestOf(text)} {
		f.manifests[key], f.types[key] = text, mediaType
	}
}

// module returns a module with a manifest of a version inside, and size more bytes.
func module(t testing.TB, version string, size int) []byte {
	t.Helper()
	wasm, err := os.ReadFile("../testdata/wasm/keep-first/plugin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	wasm, err = spec.Embed(wasm, fmt.Appendf(nil, "abi: 1\nname: keep-first\nversion: %s\ndescription: keeps the first\nlicense: Apache-2.0\noperations: {filter: {reads: [score]}}\n", version))
	if err != nil {
		t.Fatal(err)
	}
	if size > 0 {
		wasm = append(wasm, 0)
		content := append([]byte{3, 'p', 'a', 'd'}, bytes.Repeat([]byte("0123456789abcdef"), size/16)...)
		for n := len(content); ; n >>= 7 {
			if n < 0x80 {
				wasm = append(wasm, byte(n))
				break
			}
			wasm = append(wasm, byte(n)|0x80)
		}
		wasm = append(wasm, content...)
	}
	return wasm
}

func pack(t testing.TB, version string, size int) *Artifact {
	t.Helper()
	a, err := Pack(module(t, version, size), PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// newClient returns a client with a cache of its own, no credentials and short waits.
func newClient(t testing.TB, o Options) *Client {
	t.Helper()
	if o.Cache == nil {
		o.Cache = &Cache{dir: filepath.Join(t.TempDir(), "oci")}
	}
	if o.Credentials == nil {
		o.Credentials = func(context.Context, string) (Credential, error) { return Credential{}, nil }
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if c.net != nil {
		c.net.Pause = time.Millisecond
	}
	t.Cleanup(c.Close)
	return c
}

// hold puts an artifact into a registry.
func hold(f *fake, tag string, a *Artifact) {
	f.blobs[image.DigestOf(a.Config)], f.blobs[a.ModuleDigest] = a.Config, a.Module
	f.put(tag, "application/vnd.oci.image.manifest.v1+json", a.Manifest)
}
