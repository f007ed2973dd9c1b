package clitest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Registry keeps one repository in memory. It has no API for attachments.
type Registry struct {
	mu     sync.Mutex
	parts  map[string][]byte // blobs and manifests, by digest and by tag
	types  map[string]string
	tags   []string
	before func(*http.Request)
}

// goCache is where the go command keeps what it built. Its place depends on the cache folder of the
// user, which is another one in the tests of a registry.
var goCache = sync.OnceValues(func() (string, error) {
	dir, err := exec.Command("go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(dir)), err
})

// NewRegistry starts a registry and returns it with the reference of its repository. The cache of the
// commands is a folder of the test.
func NewRegistry(t testing.TB) (*Registry, string) {
	t.Helper()
	dir, err := goCache()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", dir)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	r := &Registry{parts: map[string][]byte{}, types: map[string]string{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, "oci://" + strings.TrimPrefix(server.URL, "http://") + "/acme/p"
}

// Tags returns the tags, in the order in which they were pushed.
func (r *Registry) Tags() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tags)
}

// Len returns how many blobs, manifests and tags there are.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.parts)
}

// Before sets a function that sees each request before it is answered.
func (r *Registry) Before(f func(*http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = f
}

// Put stores a blob or a manifest under its digest, which it returns, and under the tag if that is
// not "".
func (r *Registry) Put(content []byte, mediaType, tag string) (digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	digest = digestOf(content)
	r.parts[digest], r.types[digest] = content, mediaType
	if tag != "" {
		r.parts[tag], r.types[tag] = content, mediaType
		if !slices.Contains(r.tags, tag) {
			r.tags = append(r.tags, tag)
		}
	}
	return digest
}

// Remove removes a tag.
func (r *Registry) Remove(tag string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.parts, tag)
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ServeHTTP answers as a registry does.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	before := r.before
	r.mu.Unlock()
	if before != nil {
		before(q)
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/v2/acme/p/"), "/")
	switch q.Method {
	case http.MethodPost:
		w.Header().Set("Location", q.URL.Path+"1")
		w.WriteHeader(http.StatusAccepted)
	case http.MethodPut:
		r.push(w, q, kind, name)
	default:
		r.answer(w, kind, name)
	}
}

func (r *Registry) push(w http.ResponseWriter, q *http.Request, kind, name string) {
	text, err := io.ReadAll(q.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	tag := ""
	if kind == "manifests" && !strings.HasPrefix(name, "sha256:") {
		tag = name
	}
	w.Header().Set("Docker-Content-Digest", r.Put(text, q.Header.Get("Content-Type"), tag))
	w.WriteHeader(http.StatusCreated)
}

func (r *Registry) answer(w http.ResponseWriter, kind, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case kind == "tags":
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "acme/p", "tags": r.tags})
	case r.parts[name] != nil:
		w.Header().Set("Content-Type", r.types[name])
		w.Header().Set("Docker-Content-Digest", digestOf(r.parts[name]))
		w.Header().Set("Content-Length", fmt.Sprint(len(r.parts[name])))
		_, _ = w.Write(r.parts[name])
	default:
		http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`, http.StatusNotFound)
	}
}
