package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/registry/internal/image"
	"github.com/anchor-host/anchor-host/registry/internal/outbound"
)

// edited returns the manifest of an artifact after an edit.
func edited(t testing.TB, a *Artifact, edit func(*ocispec.Manifest)) []byte {
	t.Helper()
	var m ocispec.Manifest
	if err := json.Unmarshal(a.Manifest, &m); err != nil {
		t.Fatal(err)
	}
	edit(&m)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tarOf makes a tar of entries; a header without a body is written as it is.
func tarOf(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		body := h.Uname // the tests' bodies travel here
		h.Uname = ""
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(body))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

// imageOf makes a registry hold an image with one layer.
func imageOf(f *fake, layerType string, layer []byte) {
	config := []byte(`{"architecture":"amd64","os":"linux"}`)
	f.blobs[image.DigestOf(config)], f.blobs[image.DigestOf(layer)] = config, layer
	text, _ := json.Marshal(ocispec.Manifest{Versioned: versioned2, MediaType: ocispec.MediaTypeImageManifest,
		Config: image.Describe(ocispec.MediaTypeImageConfig, config), Layers: []ocispec.Descriptor{image.Describe(layerType, layer)}})
	f.put("1", ocispec.MediaTypeImageManifest, text)
}

var versioned2 = func() (v ocispec.Manifest) { v.SchemaVersion = 2; return }().Versioned

const (
	imageType = ocispec.MediaTypeImageManifest
	gzipType  = ocispec.MediaTypeImageLayerGzip
	tarType   = ocispec.MediaTypeImageLayer
)

// tampered is one artifact that is refused: what the registry holds or does, the kind of the
// error and a part of its text.
type tampered struct {
	name string
	set  func(t *testing.T, f *fake, a *Artifact)
	kind error
	want string
}

func manifestCase(name string, kind error, want string, edit func(*ocispec.Manifest)) tampered {
	return tampered{name, func(t *testing.T, f *fake, a *Artifact) { f.put("1", imageType, edited(t, a, edit)) }, kind, want}
}

func imageCase(name string, kind error, want, layerType string, layer func(t *testing.T, wasm string) []byte) tampered {
	return tampered{name, func(t *testing.T, f *fake, a *Artifact) { imageOf(f, layerType, layer(t, string(a.Module))) }, kind, want}
}

func answerCase(name string, kind error, want string, of func(a *Artifact) string, answer func(w http.ResponseWriter, a *Artifact)) tampered {
	return tampered{name, func(_ *testing.T, f *fake, a *Artifact) {
		f.before = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, of(a)) {
				return false
			}
			answer(w, a)
			return true
		}
	}, kind, want}
}

func theModule(a *Artifact) string { return "/blobs/" + a.ModuleDigest }
func theTag(*Artifact) string      { return "/manifests/1" }

func tamperedArtifacts() []tampered {
	wasm := tar.Header{Name: "plugin.wasm", Mode: 0o644}
	with := func(h tar.Header, body string) tar.Header { h.Uname = body; return h }
	all := []tampered{
		answerCase("layer of other bytes", ErrDigest, "content does not match sha256:", theModule, func(w http.ResponseWriter, a *Artifact) {
			b := bytes.Clone(a.Module)
			b[len(b)-1] ^= 1
			_, _ = w.Write(b)
		}),
		answerCase("truncated layer", ErrDigest, "its manifest says", theModule, func(w http.ResponseWriter, a *Artifact) { _, _ = w.Write(a.Module[:1000]) }),
		answerCase("truncated layer of unknown length", ErrDigest, "ends after 4096 of the", theModule, func(w http.ResponseWriter, a *Artifact) {
			w.(http.Flusher).Flush()
			_, _ = w.Write(a.Module[:4096])
		}),
		answerCase("layer that breaks off each time", ErrUnreachable, "breaks off after 0 of the", theModule, func(w http.ResponseWriter, a *Artifact) {
			w.Header().Set("Content-Length", itoa(len(a.Module)))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}),
		answerCase("layer without an end", ErrDigest, "sends more than the", theModule, func(w http.ResponseWriter, _ *Artifact) {
			for range 1000 {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}),
		answerCase("4 GB announced, 4 KB sent", ErrDigest, "announces 4294967296 bytes", theModule, func(w http.ResponseWriter, a *Artifact) {
			w.Header().Set("Content-Length", "4294967296")
			_, _ = w.Write(a.Module[:4096])
		}),
		answerCase("missing layer", ErrNotFound, "check repository and version", theModule, func(w http.ResponseWriter, _ *Artifact) { w.WriteHeader(http.StatusNotFound) }),
		answerCase("denied", ErrDenied, "docker login", theTag, func(w http.ResponseWriter, _ *Artifact) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"errors":[{"code":"DENIED","message":"no\u001b[2J `+strings.Repeat("x", 5000)+`"}]}`)
		}),
		answerCase("login page in place of a manifest", ErrUnreachable, "answers with a web page (is there a proxy or a portal between?)", theTag, func(w http.ResponseWriter, _ *Artifact) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>log in</html>")
		}),
		answerCase("manifest without an end", ErrTooLarge, "more than 4194304 bytes", theTag, func(w http.ResponseWriter, _ *Artifact) {
			for range 100 {
				_, _ = w.Write(bytes.Repeat([]byte(" "), 64<<10))
			}
		}),
		answerCase("manifest of an announced gigabyte", ErrTooLarge, "announces 1073741824 bytes", theTag, func(w http.ResponseWriter, _ *Artifact) {
			w.Header().Set("Content-Length", "1073741824")
			w.(http.Flusher).Flush()
		}),
		answerCase("manifest whose stated digest is another", ErrDigest, "digest that it states", theTag, func(w http.ResponseWriter, a *Artifact) {
			w.Header().Set("Docker-Content-Digest", a.ModuleDigest)
			_, _ = w.Write(a.Manifest)
		}),
		answerCase("redirects without end", ErrRedirect, "more than 5 times", theModule, func(w http.ResponseWriter, a *Artifact) {
			w.Header().Set("Location", "/v2/acme/p/blobs/"+a.ModuleDigest)
			w.WriteHeader(http.StatusFound)
		}),
		manifestCase("layer of 4 GB", ErrTooLarge, "layer: announces 4294967296 bytes, the limit is 67108864", func(m *ocispec.Manifest) { m.Layers[0].Size = 4 << 30 }),
		manifestCase("layer of negative size", ErrNotPlugin, "its size is -1", func(m *ocispec.Manifest) { m.Layers[0].Size = -1 }),
		manifestCase("layer of another size", ErrDigest, "its manifest says", func(m *ocispec.Manifest) { m.Layers[0].Size++ }),
		manifestCase("config of 2 MiB", ErrTooLarge, "config: announces 2097152", func(m *ocispec.Manifest) { m.Config.Size = 2 << 20 }),
		manifestCase("no layer", ErrNotPlugin, "layers: there are 0", func(m *ocispec.Manifest) { m.Layers = []ocispec.Descriptor{} }),
		manifestCase("two layers", ErrNotPlugin, "layers: there are 2", func(m *ocispec.Manifest) { m.Layers = append(m.Layers, m.Layers[0]) }),
		manifestCase("foreign layer", ErrNotPlugin, "outside of the registry", func(m *ocispec.Manifest) { m.Layers[0].URLs = []string{"http://169.254.169.254/"} }),
		manifestCase("older layer type", ErrNotPlugin, "older type", func(m *ocispec.Manifest) { m.Layers[0].MediaType = image.OlderModule }),
		manifestCase("zip layer", ErrNotPlugin, "layer: has the type \"application/zip\\x1b\"", func(m *ocispec.Manifest) { m.Layers[0].MediaType = "application/zip\x1b" }),
		manifestCase("Helm's config", ErrNotPlugin, "config: has the type", func(m *ocispec.Manifest) { m.Config.MediaType = "application/vnd.cncf.helm.config.v1+json" }),
		manifestCase("digest with a path", ErrNotPlugin, "is not sha256:", func(m *ocispec.Manifest) { m.Layers[0].Digest = "sha256:../../etc/passwd" }),
		manifestCase("digest of another kind", ErrNotPlugin, "is not sha256:", func(m *ocispec.Manifest) { m.Config.Digest = "md5:d41d8cd98f00b204e9800998ecf8427e" }),
		manifestCase("schema version 1", ErrNotPlugin, "schemaVersion is 1", func(m *ocispec.Manifest) { m.SchemaVersion = 1 }),
		manifestCase("type that differs from the header", ErrNotPlugin, "but it says", func(m *ocispec.Manifest) { m.MediaType = image.DockerManifest }),
		manifestCase("attachment", ErrNotPlugin, "is an attachment of type application/spdx+json", func(m *ocispec.Manifest) {
			m.Subject, m.ArtifactType, m.Config.MediaType = &ocispec.Descriptor{Digest: m.Config.Digest}, TypeSBOM, ocispec.MediaTypeEmptyJSON
		}),
		{"index", func(_ *testing.T, f *fake, a *Artifact) {
			text, _ := json.Marshal(ocispec.Index{Versioned: versioned2, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{image.Describe(imageType, a.Manifest)}})
			f.put("1", ocispec.MediaTypeImageIndex, text)
		}, ErrNotPlugin, "is an index of 1 manifests, name one of them by its digest, such as @sha256:"},
		{"manifest that is an index too", func(_ *testing.T, f *fake, a *Artifact) {
			f.put("1", imageType, append(bytes.TrimSuffix(bytes.Clone(a.Manifest), []byte("}")), `,"manifests":[]}`...))
		}, ErrNotPlugin, "both layers and manifests"},
		{"manifest with two members of one name", func(_ *testing.T, f *fake, a *Artifact) {
			f.put("1", imageType, append(bytes.TrimSuffix(bytes.Clone(a.Manifest), []byte("}")), `,"layers":[]}`...))
		}, ErrNotPlugin, "not valid JSON"},
		{"manifest of Docker's first form", func(_ *testing.T, f *fake, _ *Artifact) {
			f.put("1", image.DockerManifestOld+"+prettyjws", []byte(`{"schemaVersion":1}`))
		}, ErrNotPlugin, "has the old type"},
		{"manifest of deep nesting", func(_ *testing.T, f *fake, _ *Artifact) {
			f.put("1", imageType, []byte(strings.Repeat(`{"annotations":`, 200_000)))
		}, ErrNotPlugin, "not valid JSON"},
		{"component", func(t *testing.T, f *fake, a *Artifact) {
			wasm, err := os.ReadFile("../testdata/wasm/component/plugin.wasm")
			if err != nil {
				t.Fatal(err)
			}
			f.blobs[image.DigestOf(wasm)] = wasm
			f.put("1", imageType, edited(t, a, func(m *ocispec.Manifest) { m.Layers[0] = image.Describe(ModuleType, wasm) }))
		}, ErrNotPlugin, "a core module is needed: build the plugin for wasip1"},
		{"component by its config", func(t *testing.T, f *fake, a *Artifact) {
			config := []byte(`{"created":"2026-01-01T00:00:00Z","architecture":"wasm","os":"wasip2","layerDigests":[],"component":{"exports":[],"imports":[]}}`)
			f.blobs[image.DigestOf(config)] = config
			f.put("1", imageType, edited(t, a, func(m *ocispec.Manifest) { m.Config = image.Describe(ConfigType, config) }))
		}, ErrNotPlugin, "a core module is needed"},
		{"text in place of a module", func(t *testing.T, f *fake, a *Artifact) {
			f.blobs[image.DigestOf([]byte("hello"))] = []byte("hello")
			f.put("1", imageType, edited(t, a, func(m *ocispec.Manifest) { m.Layers[0] = image.Describe(ModuleType, []byte("hello")) }))
		}, ErrNotPlugin, "is not a WebAssembly module"},
		imageCase("image with a path that leads out", ErrNotPlugin, "../plugin.wasm leads out", gzipType, func(t *testing.T, w string) []byte {
			return zipped(tarOf(t, with(tar.Header{Name: "../plugin.wasm"}, w)))
		}),
		imageCase("image with a link", ErrNotPlugin, "not a regular file", tarType, func(t *testing.T, _ string) []byte {
			return tarOf(t, tar.Header{Name: "plugin.wasm", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})
		}),
		imageCase("image without a plugin", ErrNotPlugin, "has no file /plugin.wasm", gzipType, func(t *testing.T, _ string) []byte {
			return zipped(tarOf(t, with(tar.Header{Name: "bin/sh"}, "x")))
		}),
		imageCase("image with two plugins", ErrNotPlugin, "two files plugin.wasm", gzipType, func(t *testing.T, w string) []byte {
			return zipped(tarOf(t, with(wasm, w), with(tar.Header{Name: "./plugin.wasm"}, w)))
		}),
		imageCase("image that unpacks to gigabytes", ErrTooLarge, "unpacks to more than", gzipType, func(t *testing.T, _ string) []byte {
			return zipped(tarOf(t, with(tar.Header{Name: "zeros"}, strings.Repeat("\x00", 140<<20))))
		}),
		imageCase("image of many entries", ErrTooLarge, "more than 1000 entries", gzipType, func(t *testing.T, _ string) []byte {
			entries := make([]tar.Header, 1100)
			for i := range entries {
				entries[i] = tar.Header{Name: fmt.Sprint(i)}
			}
			return zipped(tarOf(t, entries...))
		}),
		imageCase("image of a broken gzip", ErrNotPlugin, "layer: read", gzipType, func(t *testing.T, w string) []byte {
			return zipped(tarOf(t, with(wasm, w)))[:300]
		}),
		imageCase("image of another compression", ErrNotPlugin, "want a tar or tar+gzip layer", tarType+"+zstd", func(*testing.T, string) []byte { return []byte("x") }),
	}
	return all
}

// TestTampered pulls each tampered artifact. What was installed before still comes from the
// cache, and nothing of the tampered one is listed there.
func TestTampered(t *testing.T) {
	good, bad := pack(t, "1.0.0", 0), pack(t, "1.1.0", 30_000)
	for _, each := range tamperedArtifacts() {
		t.Run(each.name, func(t *testing.T) {
			f := newFake(t)
			hold(f, "0", good)
			c := newClient(t, Options{})
			if _, err := c.Pull(t.Context(), f.ref("0")); err != nil {
				t.Fatal(err)
			}
			hold(f, "1", bad)
			each.set(t, f, bad)
			p, err := c.Pull(t.Context(), f.ref("1"))
			if p != nil || !errors.Is(err, each.kind) || !strings.Contains(err.Error(), each.want) {
				t.Fatalf("got %v, %v; want %q", p, err, each.want)
			}
			if text := err.Error(); strings.ContainsAny(text, "\n\x1b") || len(text) > 1500 || !strings.HasPrefix(text, "oci://127.0.0.1:") {
				t.Errorf("the error is %q", text)
			}
			t.Log(err)
			entries, err := c.Cache().Entries()
			if err != nil || len(entries) != 1 {
				t.Errorf("the cache lists %v, %v", entries, err)
			}
			if p, err := c.Pull(t.Context(), f.ref("0").At(good.Digest)); err != nil || !p.Cached || !bytes.Equal(p.Module, good.Module) {
				t.Errorf("what was installed before: %v", err)
			}
		})
	}
}

// TestMovedTag asks for a digest that the registry no longer has.
func TestMovedTag(t *testing.T) {
	f := newFake(t)
	a, b := pack(t, "1.0.0", 0), pack(t, "1.0.1", 0)
	hold(f, "1", b)
	_, err := newClient(t, Options{}).Pull(t.Context(), f.ref("1").At(a.Digest))
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "names "+b.Digest+" now") {
		t.Errorf("got %v", err)
	}
	f.put(a.Digest, imageType, b.Manifest)
	if _, err := newClient(t, Options{}).Pull(t.Context(), f.ref("1").At(a.Digest)); !errors.Is(err, ErrDigest) {
		t.Errorf("another manifest under the digest: %v", err)
	}
}

// TestGone asks for a digest that is deleted in the registry, with or without its tag.
func TestGone(t *testing.T) {
	a := pack(t, "1.0.0", 0)
	const want = "(check the digest; if it was right, load it from an archive with: anchor-host plugin install --from FILE, or install another version)"
	for name, drop := range map[string]func(f *fake){
		"all":          func(f *fake) { clear(f.manifests) },
		"the manifest": func(f *fake) { delete(f.manifests, a.Digest); delete(f.manifests, "1") },
		"the module":   func(f *fake) { delete(f.blobs, a.ModuleDigest) },
	} {
		for _, tag := range []string{"1", ""} {
			f := newFake(t)
			hold(f, "1", a)
			drop(f)
			_, err := newClient(t, Options{}).Pull(t.Context(), f.ref(tag).At(a.Digest))
			if !errors.Is(err, ErrNotFound) || !strings.HasSuffix(err.Error(), want) || !strings.Contains(err.Error(), "has no artifact with this digest, or not all of it: ") ||
				!strings.Contains(err.Error(), f.ref("").Host+": answers 404 Not Found") {
				t.Errorf("%s, tag %q: %v", name, tag, err)
			}
		}
	}
}

// TestGoneWithMirror asks a mirror and a registry for a digest. Only if none has it, the error says
// that there is no such artifact.
func TestGoneWithMirror(t *testing.T) {
	mirror, origin := newFake(t), newFake(t)
	c := newClient(t, Options{Mirrors: map[string][]string{origin.ref("").Host: {mirror.ref("").Host}}})
	ref := origin.ref("").At("sha256:" + strings.Repeat("0", 64))
	for status, want := range map[int]string{http.StatusNotFound: "answers 404 Not Found", http.StatusServiceUnavailable: "answers 503 Service Unavailable"} {
		mirror.before = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return true }
		_, err := c.Pull(t.Context(), ref)
		if !errors.Is(err, ErrNotFound) || strings.Contains(err.Error(), "no artifact with this digest") != (status == http.StatusNotFound) || !strings.Contains(err.Error(), "anchor-host plugin install --from FILE") {
			t.Errorf("%d: %v", status, err)
		}
		for _, want := range []string{mirror.ref("").Host + ": " + want, origin.ref("").Host + ": answers 404 Not Found"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%d: got %v, want %s in it", status, err, want)
			}
		}
	}
}

// TestImages reads the form that images for Envoy and Istio have.
func TestImages(t *testing.T) {
	wasm := string(module(t, "1.0.0", 0))
	for name, layer := range map[string][]byte{
		gzipType:          zipped(tarOf(t, tar.Header{Name: "manifest.yaml", Uname: "a: b"}, tar.Header{Name: "./plugin.wasm", Uname: wasm})),
		tarType:           tarOf(t, tar.Header{Name: "/plugin.wasm", Uname: wasm}),
		image.DockerLayer: zipped(tarOf(t, tar.Header{Name: "plugin.wasm", Uname: wasm})),
	} {
		f := newFake(t)
		imageOf(f, name, layer)
		c := newClient(t, Options{})
		p, err := c.Pull(t.Context(), f.ref("1"))
		if err != nil || string(p.Module) != wasm || p.ModuleDigest != image.DigestOf([]byte(wasm)) {
			t.Fatalf("%s: %v", name, err)
		}
		if p, err = c.Pull(t.Context(), p.Reference); err != nil || !p.Cached || string(p.Module) != wasm {
			t.Errorf("%s from the cache: %v", name, err)
		}
	}
}

// TestRedirects has a registry send its client elsewhere.
func TestRedirects(t *testing.T) {
	a := pack(t, "1.0.0", 0)
	var credentials []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		credentials = append(credentials, r.Header.Get("Authorization"))
		_, _ = w.Write(a.Module)
	}))
	defer elsewhere.Close()
	f := newFake(t)
	hold(f, "1", a)
	to := elsewhere.URL + "/blob?signature=secret"
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		if user, password, ok := r.BasicAuth(); !ok || user != "u" || password != "p" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		if strings.HasSuffix(r.URL.Path, a.ModuleDigest) {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return true
		}
		return false
	}
	options := Options{PlainHTTP: []string{f.ref("").Host}, Credentials: func(context.Context, string) (Credential, error) {
		return Credential{Username: "u", Password: "p"}, nil
	}}
	if _, err := newClient(t, options).Pull(t.Context(), f.ref("1")); err != nil {
		t.Fatal(err)
	}
	if len(credentials) != 1 || credentials[0] != "" {
		t.Errorf("another host received the credentials %q", credentials)
	}
	for from, targets := range map[outbound.Place][]string{
		outbound.Public:  {elsewhere.URL, "http://[::ffff:127.0.0.1]:1", "http://10.1.2.3", "http://169.254.169.254/latest", "http://localhost:1", "http://0.0.0.0:1", "http://[fe80::1]:1", "http://[64:ff9b::7f00:1]:1", "http://100.64.0.1"},
		outbound.Private: {elsewhere.URL, "http://[::1]:1", "http://169.254.169.254/latest"},
		outbound.Local:   {"http://169.254.169.254/latest", "http://0.0.0.0:1", "http://[fe80::1]:1", "http://100.100.100.200"},
	} {
		for _, target := range targets {
			c := newClient(t, options)
			at(c, f, from)
			to = target + "/?signature=secret"
			_, err := c.Pull(t.Context(), f.ref("1"))
			if !errors.Is(err, ErrRedirect) || !strings.Contains(err.Error(), "closer to this host than the registry") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s, %s: %v", from, target, err)
			}
		}
	}
	if len(credentials) != 1 {
		t.Error("a refused redirect was followed")
	}
}

// at has a registry be at a place.
func at(c *Client, f *fake, p outbound.Place) {
	others := c.net.Place
	c.net.Place = func(a netip.AddrPort) outbound.Place {
		if a.String() == f.ref("").Host {
			return p
		}
		return others(a)
	}
}

// TestRealms has a registry name the server of its tokens.
func TestRealms(t *testing.T) {
	a := pack(t, "1.0.0", 0)
	var asked []string
	tokens := func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"token":"t"}`)
	}
	bare := httptest.NewServer(http.HandlerFunc(tokens))
	defer bare.Close()
	f := newFake(t)
	hold(f, "1", a)
	var realm string
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			tokens(w, r)
			return true
		}
		if r.Header.Get("Authorization") == "Bearer t" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+realm+`/token",service="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	elsewhere := "localhost" + bare.URL[strings.LastIndex(bare.URL, ":"):]
	basic := "Basic dTpw"
	for _, each := range []struct {
		name, realm string
		from        outbound.Place
		given       bool
		want        []string // nil: refused
		says        string
	}{
		{"its own host", f.URL, outbound.Public, true, []string{basic}, ""},
		{"its own host, which is this machine", f.URL, outbound.Local, true, []string{basic}, ""},
		{"another port of this machine", bare.URL, outbound.Local, true, []string{basic}, ""},
		{"another port, from far", bare.URL, outbound.Public, true, nil, "an address of this machine, which is closer"},
		{"another port, from this network", bare.URL, outbound.Private, true, nil, "an address of this machine, which is closer"},
		{"a private address", "http://10.9.9.9:6000", outbound.Public, false, nil, "10.9.9.9:6000, an address of a private network, which is closer"},
		{"a private address over TLS", "https://10.9.9.9:6000", outbound.Public, true, nil, "an address of a private network, which is closer"},
		{"shared addresses of a carrier", "http://100.64.9.9", outbound.Public, false, nil, "closer"},
		{"a local IPv6 address", "http://[fd00::1]", outbound.Public, false, nil, "closer"},
		{"metadata", "http://169.254.169.254", outbound.Local, false, nil, "no registry has"},
		{"another host without TLS", "http://" + elsewhere, outbound.Local, true, nil, "asks for its credentials at \"" + elsewhere + "\" without TLS"},
		{"another host without TLS, nobody logged in", "http://" + elsewhere, outbound.Local, false, []string{""}, ""},
	} {
		asked, realm = nil, each.realm
		c := newClient(t, Options{PlainHTTP: []string{f.ref("").Host}, Credentials: func(context.Context, string) (Credential, error) {
			if each.given {
				return Credential{Username: "u", Password: "p"}, nil
			}
			return Credential{}, nil
		}})
		at(c, f, each.from)
		_, err := c.Pull(t.Context(), f.ref("1"))
		if each.want == nil && (!errors.Is(err, ErrRedirect) || !strings.Contains(err.Error(), each.says)) || each.want != nil && err != nil || !slices.Equal(asked, each.want) {
			t.Errorf("%s: %v, the server of tokens was asked with %q", each.name, err, asked)
		}
	}
}

// TestPages has a registry keep the second page of its tags on another server, which wants to know
// who asks.
func TestPages(t *testing.T) {
	var sent []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sent = append(sent, r.Header.Get("Authorization")); r.URL.RawQuery != "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Link", `</v2/acme/p/tags/list?n=1>; rel="next"`)
		fmt.Fprint(w, `{"tags":["1"]}`)
	}))
	defer other.Close()
	f := newFake(t)
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/tags/list") {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}
		return strings.HasSuffix(r.URL.Path, "/tags/list")
	}
	c := newClient(t, Options{Credentials: func(context.Context, string) (Credential, error) {
		return Credential{Username: "u", Password: "p"}, nil
	}})
	if _, err := c.Tags(t.Context(), f.ref("")); !errors.Is(err, ErrDenied) || len(sent) != 2 || strings.Join(sent, "") != "" {
		t.Errorf("%v, the other server received %q", err, sent)
	}
}

// TestTimeout ends what a registry does in time, but without an end.
func TestTimeout(t *testing.T) {
	a := pack(t, "1.0.0", 100_000)
	trickle := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", itoa(len(a.Module)))
		for range a.Module {
			if _, err := w.Write([]byte("x")); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	busy := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "29")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	later := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "100000")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	for name, each := range map[string]struct {
		path   string
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		"module":   {a.ModuleDigest, trickle, "bytes of " + a.ModuleDigest + ": it took longer than %s (raise --timeout)"},
		"manifest": {"/manifests/1", trickle, " bytes: it took longer than %s (raise --timeout)"},
		"busy":     {"/manifests/1", busy, "answers 429 Too Many Requests: a wait of 29s is longer than --timeout allows (raise it, or try again later)"},
		"later":    {"/manifests/1", later, "answers 503 Service Unavailable, and asks to come back in 27h46m40s"},
		"tags":     {"/tags/list", trickle, "it took longer than %s (raise --timeout)"},
	} {
		f := newFake(t)
		hold(f, "1", a)
		f.before = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, each.path) {
				return false
			}
			each.answer(w, r)
			return true
		}
		var err error
		if !await.Enough(200*time.Millisecond, func(limit time.Duration) bool { // for the answer to begin
			c := newClient(t, Options{Timeout: limit})
			if name == "tags" {
				_, err = c.Tags(t.Context(), f.ref(""))
			} else {
				_, err = c.Pull(t.Context(), f.ref("1"))
			}
			return err != nil && strings.Contains(err.Error(), strings.ReplaceAll(each.want, "%s", limit.String())) &&
				(strings.Contains(err.Error(), f.ref("").Host+":") || strings.Contains(err.Error(), f.ref("").Host+" "))
		}) {
			t.Errorf("%s: %v", name, err)
		}
		if errors.Is(err, context.DeadlineExceeded) == (name == "later") {
			t.Errorf("%s: %v is of another kind", name, err)
		}
	}
}

// TestStalls ends a request during which nothing comes.
func TestStalls(t *testing.T) {
	a := pack(t, "1.0.0", 100_000)
	for _, what := range []string{a.ModuleDigest, "/manifests/1"} {
		f := newFake(t)
		hold(f, "1", a)
		done := make(chan struct{})
		f.before = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, what) {
				return false
			}
			w.Header().Set("Content-Length", itoa(len(a.Module)))
			w.(http.Flusher).Flush()
			<-done
			return true
		}
		c := newClient(t, Options{})
		c.net.Stall = 200 * time.Millisecond
		if _, err := c.Pull(t.Context(), f.ref("1")); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "no byte came or went") {
			t.Errorf("%s: error %v, want that no byte came or went", what, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		c.net.Stall = time.Hour
		if _, err := c.Pull(ctx, f.ref("1")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: a context that ends: %v", what, err)
		}
		cancel()
		close(done)
	}
}

// TestPlainHTTP keeps the client from speaking without TLS to others than this machine.
func TestPlainHTTP(t *testing.T) {
	f := newFake(t)
	hold(f, "1", pack(t, "1.0.0", 0))
	c := newClient(t, Options{})
	if plain, known := c.speaksPlain(t.Context(), "registry.example"); plain || !known {
		t.Error("another machine is asked without TLS")
	}
	if _, err := c.Pull(t.Context(), Reference{Host: "localhost:1", Repository: "p", Tag: "1"}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("nobody there: %v", err)
	}
	secure := httptest.NewTLSServer(f)
	defer secure.Close()
	ref := f.ref("1")
	ref.Host = strings.TrimPrefix(secure.URL, "https://")
	if _, err := c.Pull(t.Context(), ref); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
	roots := secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	if _, err := newClient(t, Options{RootCAs: roots}).Pull(t.Context(), ref); err != nil {
		t.Errorf("a known certificate: %v", err)
	}
}

// curt closes connections that do not begin with an HTTP request, without a word or with a reset.
type curt struct {
	net.Listener
	reset    bool
	greeted  *atomic.Int32
	speaking bool // TLS, after the first greeting
}

func (l curt) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		first := make([]byte, 1)
		if _, err := io.ReadFull(conn, first); err == nil && first[0] != 0x16 { // 0x16 begins a TLS greeting
			return &begun{conn, io.MultiReader(bytes.NewReader(first), conn)}, nil
		}
		if l.greeted.Add(1) > 1 && l.speaking {
			return &begun{conn, io.MultiReader(bytes.NewReader(first), conn)}, nil
		}
		if !l.reset { // what is left unread makes the end a reset
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			_, _ = io.Copy(io.Discard, conn)
		}
		conn.Close()
	}
}

// begun is a connection whose first byte was read already.
type begun struct {
	net.Conn
	from io.Reader
}

func (b *begun) Read(p []byte) (int, error) { return b.from.Read(p) }

// TestCurtRegistry asks a registry on this machine that hangs up on a TLS greeting. It is greeted
// once.
func TestCurtRegistry(t *testing.T) {
	for _, reset := range []bool{false, true} {
		f := &fake{blobs: map[string][]byte{}, manifests: map[string][]byte{}, types: map[string]string{}}
		f.Server = httptest.NewUnstartedServer(f)
		greeted := &atomic.Int32{}
		f.Listener = curt{Listener: f.Listener, reset: reset, greeted: greeted}
		f.Start()
		hold(f, "1", pack(t, "1.0.0", 0))
		if _, err := newClient(t, Options{}).Pull(t.Context(), f.ref("1")); err != nil || greeted.Load() != 1 {
			t.Errorf("reset %v: greeted %d times, %v", reset, greeted.Load(), err)
		}
		f.Close()
	}
}

// TestStumblingRegistry hangs up on the first TLS greeting only: the client stays with TLS.
func TestStumblingRegistry(t *testing.T) {
	f := &fake{blobs: map[string][]byte{}, manifests: map[string][]byte{}, types: map[string]string{}}
	f.Server = httptest.NewUnstartedServer(f)
	f.Listener = curt{Listener: f.Listener, greeted: &atomic.Int32{}, speaking: true}
	f.StartTLS()
	defer f.Close()
	hold(f, "1", pack(t, "1.0.0", 0))
	roots := f.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	if _, err := newClient(t, Options{RootCAs: roots}).Pull(t.Context(), f.ref("1")); err != nil {
		t.Error(err)
	}
}

// TestMirrors asks mirrors first, and the registry where they fail.
func TestMirrors(t *testing.T) {
	a := pack(t, "1.0.0", 50_000)
	origin := newFake(t)
	hold(origin, "1", a)
	for name, set := range map[string]func(m *fake){
		"has all":   func(m *fake) { hold(m, "1", a) },
		"has none":  func(*fake) {},
		"is broken": func(m *fake) { m.Close() },
		"sends other bytes": func(m *fake) {
			hold(m, "1", a)
			m.blobs[a.ModuleDigest] = bytes.Repeat([]byte{1}, len(a.Module))
		},
	} {
		mirror := newFake(t)
		set(mirror)
		origin.sent()
		c := newClient(t, Options{Mirrors: map[string][]string{origin.ref("").Host: {mirror.ref("").Host}}})
		p, err := c.Pull(t.Context(), origin.ref("1"))
		if err != nil || !bytes.Equal(p.Module, a.Module) {
			t.Errorf("%s: %v", name, err)
		}
		if n := origin.sent(); (n == 0) != (name == "has all") {
			t.Errorf("%s: the registry was asked %d times", name, n)
		}
	}
	if s, err := mirrorSite("mirror.example/ghcr/", origin.ref("1")); err != nil || s.repository != "ghcr/acme/p" {
		t.Errorf("a mirror with a path is %v, %v", s, err)
	}
	if _, err := New(Options{Mirrors: map[string][]string{"ghcr.io": {"user:x@y"}}}); err == nil {
		t.Error("a mirror that is no host is accepted")
	}
}

// TestAllMirrorsFail names what each server said, and what to do once.
func TestAllMirrorsFail(t *testing.T) {
	a := pack(t, "1.0.0", 50_000)
	const closed = "127.0.0.1:1" // a port that was open may be another server's by now
	origin, empty := newFake(t), newFake(t)
	broken := func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true }
	noLayer := func(w http.ResponseWriter, r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, a.ModuleDigest) && broken(w, r)
	}
	hold(origin, "1", a)
	c := newClient(t, Options{Mirrors: map[string][]string{origin.ref("").Host: {closed, empty.ref("").Host}}})
	for name, before := range map[string]func(http.ResponseWriter, *http.Request) bool{"manifest": broken, "layer": noLayer} {
		origin.before = before
		_, err := c.Pull(t.Context(), origin.ref("1"))
		if !errors.Is(err, ErrUnreachable) || strings.Count(err.Error(), remedy) != 1 || !strings.HasSuffix(err.Error(), remedy) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range []string{closed + ": dial tcp", empty.ref("").Host + ": answers 404 Not Found", origin.ref("").Host + ": answers 502 Bad Gateway"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s in it", name, err, want)
			}
		}
	}
	empty.before, origin.before = broken, broken
	if _, err := c.Referrers(t.Context(), origin.ref("1").At(a.Digest), ""); err == nil || strings.Count(err.Error(), "502 Bad Gateway") != 2 {
		t.Errorf("attachments: %v", err)
	}
}

// TestDockerConfig takes credentials from Docker's file and from a helper.
func TestDockerConfig(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	config := filepath.Join(dir, "config.json")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	c := newClient(t, Options{})
	c.options.Credentials = nil
	write(config, `{"auths":{"a.example:5000":{"auth":"dTpw"}},"credHelpers":{"b.example":"test"}}`, 0o600)
	write(filepath.Join(dir, "docker-credential-test"), "#!/bin/sh\ncat >/dev/null\necho '{\"Username\":\"h\",\"Secret\":\"s\"}'\n", 0o755)
	for host, want := range map[string]string{"a.example:5000": "u p", "b.example": "h s", "c.example": " "} {
		cred, err := c.credential(t.Context(), host)
		if got := cred.Username + " " + cred.Password; err != nil || got != want {
			t.Errorf("%s: %q, %v", host, got, err)
		}
	}
	write(config, `{`, 0o600)
	if _, err := c.credential(t.Context(), "a.example"); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("a broken file: %v", err)
	}
	f := newFake(t)
	f.before = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	remedy := "(repair Docker's config.json, or run docker login " + f.ref("").Host + ")"
	for name, text := range map[string]string{"broken file": `{`, "missing helper": `{"credsStore":"gone"}`} {
		write(config, text, 0o600)
		if _, err := c.Pull(t.Context(), f.ref("1")); err == nil || !strings.HasSuffix(err.Error(), remedy) || strings.Contains(err.Error(), "http://") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRefusedCredentials tells credentials that are refused from none.
func TestRefusedCredentials(t *testing.T) {
	f := newFake(t)
	for name, each := range map[string]struct {
		scheme string
		status int
		given  Credential
		want   string
	}{
		"basic":                {`Basic realm="x"`, 401, Credential{Username: "u", Password: "p"}, "the registry refuses these credentials (log in again with: docker login 127"},
		"basic, none given":    {`Basic realm="x"`, 401, Credential{}, "there are no credentials (log in with: docker login 127"},
		"bearer":               {`Bearer realm="` + f.URL + `/token"`, 401, Credential{Username: "u", Password: "p"}, "the registry refuses these credentials"},
		"bearer, none given":   {`Bearer realm="` + f.URL + `/token"`, 401, Credential{}, "none are given (log in with"},
		"forbidden":            {`Basic realm="x"`, 403, Credential{Username: "u", Password: "p"}, "it does not exist for this user (log in with"},
		"not even asked about": {"", 401, Credential{}, "none are given (log in with"},
	} {
		f.before = func(w http.ResponseWriter, r *http.Request) bool {
			status := each.status
			if r.Header.Get("Authorization") == "" && each.scheme != "" {
				w.Header().Set("WWW-Authenticate", each.scheme)
				status = http.StatusUnauthorized
			}
			w.WriteHeader(status)
			return true
		}
		c := newClient(t, Options{Credentials: func(context.Context, string) (Credential, error) { return each.given, nil }})
		_, err := c.Pull(t.Context(), f.ref("1"))
		if !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), each.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
