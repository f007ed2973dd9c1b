package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/registry/internal/outbound"
)

func TestParseReference(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for text, want := range map[string]Reference{
		"oci://ghcr.io/acme/bm25:1.2":             {"ghcr.io", "acme/bm25", "1.2", ""},
		"GHCR.io/acme/bm25:1.2@" + digest:         {"ghcr.io", "acme/bm25", "1.2", digest},
		"localhost/p@" + digest:                   {"localhost", "p", "", digest},
		"oci://[::1]:5000/a/b__c--d:v":            {"[::1]:5000", "a/b__c--d", "v", ""},
		"registry:5000/x":                         {"registry:5000", "x", "", ""},
		"oci://127.0.0.1:5000/acme/p:UPPER_1.0-x": {"127.0.0.1:5000", "acme/p", "UPPER_1.0-x", ""},
	} {
		got, err := ParseReference(text)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
		if again, err := ParseReference(got.String()); err != nil || again != want {
			t.Errorf("%s does not come back: %+v, %v", got, again, err)
		}
	}
	for text, want := range map[string]string{
		"":                                  "names no repository",
		"https://ghcr.io/a":                 "want oci://",
		"ghcr.io":                           "names no repository",
		"acme/bm25:1":                       "begin with the registry, such as docker.io/acme",
		"ghcr.io/Acme/bm25":                 `write "acme/bm25"`,
		"ghcr.io/acme//x":                   "the repository is not valid",
		"ghcr.io/../x":                      "the repository is not valid",
		"ghcr.io/a:":                        "not a tag",
		"ghcr.io/a:x/y":                     "not a tag",
		"ghcr.io/a@sha256:00":               "not a digest",
		"ghcr.io/a:1@":                      "not a digest",
		"user@ghcr.io/a":                    "the registry is not valid",
		"ghcr.io:0/a":                       "port",
		"ghcr.io:99999/a":                   "port",
		"ghcr.io:+5/a":                      "port",
		"[::1/a":                            "IPv6",
		"gh\x1bcr.io/a":                     "the registry is not valid",
		"h.io/" + strings.Repeat("a", 2000): "longer than",
	} {
		_, err := ParseReference(text)
		if !errors.Is(err, ErrReference) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func FuzzParseReference(f *testing.F) {
	f.Add("oci://ghcr.io/acme/bm25:1.2@sha256:" + strings.Repeat("0", 64))
	f.Add("[::1]:5000/a")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseReference(text)
		if err != nil {
			return
		}
		if again, err := ParseReference(r.String()); err != nil || again != r {
			t.Fatalf("%q: %+v does not come back: %+v, %v", text, r, again, err)
		}
	})
}

func TestPackIsDeterministic(t *testing.T) {
	wasm := module(t, "1.2.0", 0)
	a, err := Pack(wasm, PackOptions{Source: "https://example.org/src", Revision: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Pack(bytes.Clone(wasm), PackOptions{Source: "https://example.org/src", Revision: "abc"})
	if err != nil || a.Digest != b.Digest {
		t.Fatalf("digests %s and %s, %v", a.Digest, b.Digest, err)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(a.Manifest, &m); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"org.opencontainers.image.title": "keep-first", "org.opencontainers.image.version": "1.2.0",
		"org.opencontainers.image.created": "1970-01-01T00:00:00Z", "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.description": "keeps the first", "org.opencontainers.image.source": "https://example.org/src",
		"dev.anchor-host.abi": "1", "dev.anchor-host.operations": "filter",
	} {
		if m.Annotations[name] != want {
			t.Errorf("annotation %s is %q, want %q", name, m.Annotations[name], want)
		}
	}
	if m.ArtifactType != "" || m.Config.MediaType != ConfigType || len(m.Layers) != 1 || m.Layers[0].MediaType != ModuleType || string(m.Layers[0].Digest) != a.ModuleDigest {
		t.Errorf("the manifest is %s", a.Manifest)
	}
	if want := `{"created":"1970-01-01T00:00:00Z","architecture":"wasm","os":"wasip1","layerDigests":["` + a.ModuleDigest + `"]}`; string(a.Config) != want {
		t.Errorf("the config is %s, want %s", a.Config, want)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600")
	dated, err := Pack(wasm, PackOptions{})
	if err != nil || !bytes.Contains(dated.Config, []byte("2026-01-01T00:00:00Z")) {
		t.Errorf("with a date: %s, %v", dated.Config, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "soon")
	if _, err := Pack(wasm, PackOptions{}); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("with a wrong date: %v", err)
	}
	foreign, err := os.ReadFile("../testdata/wasm/foreign/plugin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Pack(foreign, PackOptions{}); !errors.Is(err, ErrNotPlugin) || !strings.Contains(err.Error(), "plugin build") {
		t.Errorf("a module without a manifest: %v", err)
	}
}

func TestPushAndPull(t *testing.T) {
	f, ctx := newFake(t), context.Background()
	var seen []Progress
	author := newClient(t, Options{Progress: func(p Progress) { seen = append(seen, p) }})
	a := pack(t, "1.0.0", 100_000)
	ref, err := author.Push(ctx, f.ref("1.0.0"), a, PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if last := seen[len(seen)-1]; !last.Upload || last.Done != int64(len(a.Module)) || last.Total != last.Done {
		t.Errorf("the last progress is %+v", last)
	}
	if ref.Digest != a.Digest {
		t.Errorf("pushed %s, want %s", ref.Digest, a.Digest)
	}
	f.sent()
	if _, err := author.Push(ctx, f.ref("1.0.0"), a, PushOptions{}); err != nil || f.sent() != 1 {
		t.Errorf("pushing again: %v", err)
	}
	other := pack(t, "1.0.1", 0)
	if _, err := author.Push(ctx, f.ref("1.0.0"), other, PushOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("a taken tag: %v", err)
	}

	seen = nil
	operator := newClient(t, Options{Progress: func(p Progress) { seen = append(seen, p) }})
	p, err := operator.Pull(ctx, f.ref("1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p.Module, a.Module) || p.Reference != ref || p.ModuleDigest != a.ModuleDigest || p.Cached {
		t.Errorf("pulled %s, cached %v", p.Reference, p.Cached)
	}
	if last := seen[len(seen)-1]; last.Upload || last.Done != int64(len(a.Module)) {
		t.Errorf("the last progress is %+v", last)
	}
	f.sent()
	p, err = operator.Pull(ctx, ref)
	if err != nil || !p.Cached || f.sent() != 0 || !bytes.Equal(p.Module, a.Module) {
		t.Errorf("from the cache: %v, %v", p, err)
	}
	if _, err := author.Push(ctx, f.ref("1.0.0"), other, PushOptions{Move: true}); err != nil {
		t.Fatal(err)
	}
	now, err := operator.Resolve(ctx, f.ref("1.0.0"))
	if err != nil || now.Digest != other.Digest {
		t.Errorf("the moved tag names %s, %v", now.Digest, err)
	}
	tags, err := operator.Tags(ctx, f.ref(""))
	if err != nil || !slices.Equal(tags, []string{"1.0", "1.1"}) {
		t.Errorf("tags %v, %v", tags, err)
	}
	for _, ref := range []Reference{f.ref(""), {Host: "x.io", Repository: "y"}} {
		if _, err := operator.Pull(ctx, ref); !errors.Is(err, ErrReference) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestPullByManyAtOnce(t *testing.T) {
	f := newFake(t)
	a := pack(t, "1.0.0", 300_000)
	hold(f, "1", a)
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			c := newClient(t, Options{Cache: &Cache{dir: dir}})
			if p, err := c.Pull(t.Context(), f.ref("1")); err != nil || !bytes.Equal(p.Module, a.Module) {
				t.Errorf("pull: %v", err)
			}
		})
	}
	all.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(slices.DeleteFunc(f.requests, func(r string) bool { return r != "GET /v2/acme/p/blobs/"+a.ModuleDigest })); n != 1 {
		t.Errorf("the module was fetched %d times", n)
	}
}

func TestOffline(t *testing.T) {
	f, ctx := newFake(t), context.Background()
	a := pack(t, "1.0.0", 0)
	hold(f, "1", a)
	online := newClient(t, Options{})
	if _, err := online.Pull(ctx, f.ref("1")); err != nil {
		t.Fatal(err)
	}
	f.sent()
	c := newClient(t, Options{Offline: true, Cache: online.Cache()})
	if p, err := c.Pull(ctx, f.ref("1")); err != nil || !p.Cached || p.Reference.Digest != a.Digest {
		t.Errorf("by tag: %v, %v", p, err)
	}
	digest := "sha256:" + strings.Repeat("0", 64)
	for name, err := range map[string]error{
		"tag":     second(c.Pull(ctx, f.ref("2"))),
		"digest":  second(c.Pull(ctx, f.ref("").At(digest))),
		"push":    second(c.Push(ctx, f.ref("3"), a, PushOptions{})),
		"attach":  second(c.Attach(ctx, f.ref("1").At(a.Digest), Attachment{Type: TypeReadme, Data: []byte("x")})),
		"tags":    second(c.Tags(ctx, f.ref(""))),
		"resolve": second(c.Resolve(ctx, f.ref("2"))),
	} {
		if !errors.Is(err, ErrOffline) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c.net != nil || f.sent() != 0 {
		t.Error("an offline client has a way out")
	}
	path := c.cache.blobPath(a.ModuleDigest)
	if err := os.WriteFile(path, bytes.Repeat([]byte{1}, len(a.Module)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Pull(ctx, f.ref("1")); !errors.Is(err, ErrDigest) || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: %v", err)
	}
	if p, err := online.Pull(ctx, f.ref("1").At(a.Digest)); err != nil || p.Cached || !bytes.Equal(p.Module, a.Module) {
		t.Errorf("a damaged file, online: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestAttachments(t *testing.T) {
	f, ctx := newFake(t), context.Background()
	a := pack(t, "1.0.0", 0)
	c := newClient(t, Options{})
	ref, err := c.Push(ctx, f.ref("1"), a, PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Attach(ctx, f.ref("1"), Attachment{Type: TypeReadme, Data: []byte("# x")}); !errors.Is(err, ErrReference) {
		t.Errorf("without a digest: %v", err)
	}
	for range 2 {
		for _, at := range []Attachment{{Type: TypeReadme, Title: "README.md", Data: []byte("# Keep first")}, {Type: TypeSignature, Data: []byte(`{"payload":""}`)}} {
			if _, err := c.Attach(ctx, ref, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	operator := newClient(t, Options{})
	all, err := operator.Referrers(ctx, ref, "")
	if err != nil || len(all) != 2 || all[0].Type != TypeSignature || string(all[1].Data) != "# Keep first" || all[1].Title != "README.md" {
		t.Fatalf("attachments %+v, %v", all, err)
	}
	offline := newClient(t, Options{Offline: true, Cache: operator.Cache()})
	if kept, err := offline.Referrers(ctx, ref, TypeSignature); err != nil || len(kept) != 1 || string(kept[0].Data) != `{"payload":""}` {
		t.Errorf("offline: %+v, %v", kept, err)
	}
	none, err := operator.Referrers(ctx, ref.At("sha256:"+strings.Repeat("1", 64)), "")
	if err != nil || len(none) != 0 {
		t.Errorf("of another artifact: %+v, %v", none, err)
	}
}

// TestBreaksOff ends each transfer after a part; the client takes it up again.
func TestBreaksOff(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		f := newFake(t)
		a := pack(t, "1.0.0", 200_000)
		hold(f, "1", a)
		broken := 0
		f.before = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, a.ModuleDigest) || broken == 3 {
				if !ranges {
					r.Header.Del("Range")
				}
				return false
			}
			broken++
			from := 0
			if r.Header.Get("Range") != "" && ranges {
				from = 50_000 * (broken - 1)
				w.Header().Set("Content-Range", "bytes "+itoa(from)+"-"+itoa(len(a.Module)-1)+"/"+itoa(len(a.Module)))
				w.Header().Set("Content-Length", itoa(len(a.Module)-from))
				w.WriteHeader(http.StatusPartialContent)
			} else {
				w.Header().Set("Content-Length", itoa(len(a.Module)))
			}
			_, _ = w.Write(a.Module[from : from+50_000])
			panic(http.ErrAbortHandler)
		}
		p, err := newClient(t, Options{}).Pull(t.Context(), f.ref("1"))
		if err != nil || !bytes.Equal(p.Module, a.Module) || broken != 3 {
			t.Errorf("ranges %v: %v after %d breaks", ranges, err, broken)
		}
	}
}

func itoa(n int) string { text, _ := json.Marshal(n); return string(text) }

// TestResumes takes up what an earlier process left, and throws it away where it is wrong.
func TestResumes(t *testing.T) {
	f := newFake(t)
	a := pack(t, "1.0.0", 200_000)
	hold(f, "1", a)
	wrong := bytes.Clone(a.Module[:100_000])
	wrong[50] ^= 1
	for name, left := range map[string][]byte{"right": a.Module[:100_000], "wrong": wrong, "complete": a.Module, "too long": append(bytes.Clone(a.Module), 1), "wrong and complete": bytes.Repeat([]byte{7}, len(a.Module))} {
		c := newClient(t, Options{})
		if err := c.cache.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.cache.partPath(a.ModuleDigest), left, 0o600); err != nil {
			t.Fatal(err)
		}
		served := 0
		f.before = func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, a.ModuleDigest) {
				served++
			}
			return false
		}
		p, err := c.Pull(t.Context(), f.ref("1"))
		if err != nil || !bytes.Equal(p.Module, a.Module) {
			t.Errorf("%s: %v", name, err)
		}
		if want := map[string]int{"right": 1, "wrong": 2, "complete": 0, "too long": 0, "wrong and complete": 1}[name]; served != want {
			t.Errorf("%s: %d requests, want %d", name, served, want)
		}
	}
}

func TestRetries(t *testing.T) {
	f := newFake(t)
	a := pack(t, "1.0.0", 0)
	hold(f, "1", a)
	failures, status, after := 0, http.StatusServiceUnavailable, ""
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v2/acme/p/manifests/1" && failures > 0 {
			failures--
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			http.Error(w, "", status)
			return true
		}
		return false
	}
	failures = 3
	if _, err := newClient(t, Options{}).Pull(t.Context(), f.ref("1")); err != nil || failures != 0 {
		t.Errorf("after three failures: %v", err)
	}
	failures, status = 99, http.StatusTooManyRequests
	if _, err := newClient(t, Options{}).Pull(t.Context(), f.ref("1")); !errors.Is(err, ErrBusy) || failures != 99-1-outbound.MaxRetries {
		t.Errorf("a registry that is always busy: %v, %d left", err, failures)
	}
	failures, after = 99, "3600"
	if _, err := newClient(t, Options{}).Pull(t.Context(), f.ref("1")); !errors.Is(err, ErrBusy) || failures != 98 {
		t.Errorf("a registry that asks for an hour: %v, %d left", err, failures)
	}
	failures, after = 1, "1"
	begin := time.Now()
	if _, err := newClient(t, Options{}).Pull(t.Context(), f.ref("1")); err != nil || time.Since(begin) < time.Second {
		t.Errorf("a registry that asks for a second: %v after %s", err, time.Since(begin))
	}
}
