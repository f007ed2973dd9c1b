package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/registry/internal/image"
)

// cosigned makes a registry hold signatures of cosign for a digest, n of them.
func cosigned(t *testing.T, f *fake, digest string, n int) {
	t.Helper()
	config := []byte(`{"architecture":""}`)
	m := ocispec.Manifest{Versioned: versioned2, MediaType: imageType, Config: image.Describe(ocispec.MediaTypeImageConfig, config)}
	f.blobs[image.DigestOf(config)] = config
	for i := range n {
		payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":%q},"type":"x"},"optional":{"n":"%d"}}`, digest, i)
		f.blobs[image.DigestOf(payload)] = payload
		layer := image.Describe(cosignLayer, payload)
		layer.Annotations = map[string]string{cosignAnnotation: "c2ln"}
		m.Layers = append(m.Layers, layer)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	f.put(cosignTag(strings.TrimPrefix(digest, "sha256:")), imageType, text)
}

// signedCache returns a cache with two plugins that have a README, signatures of cosign and a
// signature.
func signedCache(t *testing.T) (c *Client, f *fake, a, b *Artifact) {
	t.Helper()
	c, f, a, b = filled(t)
	for _, each := range []*Artifact{a, b} {
		ref := f.ref("").At(each.Digest)
		if _, err := c.Attach(t.Context(), ref, Attachment{Type: TypeSignature, Data: []byte(`{"payload":"` + each.Digest + `"}`)}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Referrers(t.Context(), ref, ""); err != nil {
			t.Fatal(err)
		}
		for n := range 2 { // the first is in the cache still when the second comes
			cosigned(t, f, each.Digest, n+1)
			if _, err := c.CosignSignatures(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c, f, a, b
}

// checkSigned wants all that belongs to a plugin of signedCache to be found offline.
func checkSigned(t *testing.T, name string, cache *Cache, ref Reference) {
	t.Helper()
	offline := newClient(t, Options{Offline: true, Cache: cache})
	if _, err := offline.Pull(t.Context(), ref); err != nil {
		t.Errorf("%s: the plugin: %v", name, err)
	}
	all, err := offline.Referrers(t.Context(), ref, "")
	if err != nil || len(all) != 2 || all[0].Type != TypeSignature || string(all[0].Data) != `{"payload":"`+ref.Digest+`"}` || all[1].Type != TypeReadme {
		t.Errorf("%s: attachments %+v, %v", name, all, err)
	}
	if all, err := offline.CosignSignatures(t.Context(), ref); err != nil || len(all) != 2 || !bytes.Contains(all[0].Payload, []byte(ref.Digest)) {
		t.Errorf("%s: signatures of cosign %s, %v", name, all, err)
	}
}

// archived saves a plugin and loads it elsewhere.
func archived(t *testing.T, cache *Cache, ref Reference) *Cache {
	t.Helper()
	var archive bytes.Buffer
	if err := cache.Save(&archive, ref); err != nil {
		t.Fatal(err)
	}
	far := &Cache{dir: filepath.Join(t.TempDir(), "oci")}
	if _, err := far.Load(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	return far
}

var damages = map[string]func(path string) error{
	"empty":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
	"cut":     func(path string) error { return os.Truncate(path, 500) },
	"no list": func(path string) error { return os.WriteFile(path, []byte("{}"), 0o600) },
	"lost":    os.Remove,
}

// TestRebuiltIndex damages the index: what is attached to plugins is found in spite of that, before
// the next change and after it.
func TestRebuiltIndex(t *testing.T) {
	for name, damage := range damages {
		c, f, a, b := signedCache(t)
		refs := []Reference{f.ref("1.0").At(a.Digest), f.ref("1.1").At(b.Digest)}
		if err := damage(filepath.Join(c.cache.dir, ocispec.ImageIndexFile)); err != nil {
			t.Fatal(err)
		}
		check := func(when string) {
			t.Helper()
			for _, ref := range refs {
				checkSigned(t, name+", "+when, c.cache, ref)
				checkSigned(t, name+", "+when+", saved", archived(t, c.cache, ref), ref)
			}
		}
		check("damaged")
		if _, err := c.Pull(t.Context(), f.ref("1.0")); err != nil {
			t.Fatal(err)
		}
		check("healed")
		index, err := c.cache.index()
		if err != nil || len(index.Manifests) != 8 {
			t.Errorf("%s: the index lists %d artifacts, %v", name, len(index.Manifests), err)
		}
		for _, ref := range refs { // all names come back
			if _, err := c.Pull(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Referrers(t.Context(), ref, ""); err != nil {
				t.Fatal(err)
			}
			if _, err := c.CosignSignatures(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
		}
		if entries, err := c.cache.Entries(); err != nil || len(entries) != 8 {
			t.Errorf("%s: the cache lists %+v, %v", name, entries, err)
		}
		check("with all names")
	}
}

// TestPruneRebuiltIndex damages the index: Prune keeps what is attached to a kept plugin.
func TestPruneRebuiltIndex(t *testing.T) {
	for name, damage := range damages {
		c, f, a, b := signedCache(t)
		if err := damage(filepath.Join(c.cache.dir, ocispec.ImageIndexFile)); err != nil {
			t.Fatal(err)
		}
		if freed, err := c.cache.Prune(t.Context(), a.Digest); err != nil || freed < int64(len(b.Module)) {
			t.Fatalf("%s: freed %d, %v", name, freed, err)
		}
		checkSigned(t, name, c.cache, f.ref("").At(a.Digest))
		if c.cache.has(b.Digest, int64(len(b.Manifest))) {
			t.Errorf("%s: what was not kept is there", name)
		}
	}
}

// TestRebuildLeavesOut puts blobs into a cache that a rebuilt index must not list.
func TestRebuildLeavesOut(t *testing.T) {
	c, _, a, _ := signedCache(t)
	whole, err := c.cache.rebuild()
	if err != nil {
		t.Fatal(err)
	}
	noLayer := edited(t, a, func(m *ocispec.Manifest) { m.Layers[0].Size++ })
	for _, text := range [][]byte{noLayer, []byte("{}"), []byte(`{"layers":[]}`), []byte("{"), bytes.Repeat([]byte("{"), image.MaxManifest+1)} {
		if err := c.cache.put(text); err != nil {
			t.Fatal(err)
		}
	}
	forged := c.cache.blobPath("sha256:" + strings.Repeat("0", 64))
	if err := os.WriteFile(forged, a.Manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := c.cache.rebuild()
	if err != nil || !slices.EqualFunc(whole.Manifests, again.Manifests, func(x, y ocispec.Descriptor) bool { return x.Digest == y.Digest }) {
		t.Errorf("rebuilt %+v, want %+v, %v", again, whole, err)
	}
}
