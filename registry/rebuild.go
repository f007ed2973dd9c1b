package registry

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/registry/internal/image"
)

// maxRebuilt is how many artifacts a rebuilt index has at most, so that it stays below maxIndex.
const maxRebuilt = 10_000

// repaired reads the index. One that is damaged or lost is rebuilt from the blobs, in memory: the
// next change writes it.
func (c *Cache) repaired() (*ocispec.Index, error) {
	index, err := c.index()
	if errors.Is(err, errDamaged) || err == nil && index.SchemaVersion == 0 && len(index.Manifests) == 0 {
		return c.rebuild()
	}
	return index, err
}

// rebuild makes an index of the manifests among the blobs. Their bytes say what they are and what
// they belong to, but not under which name they came: the entries have none, see under.
func (c *Cache) rebuild() (*ocispec.Index, error) {
	folder := filepath.Join(c.dir, "blobs", "sha256")
	files, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cache: rebuild its index: list %s: %w", folder, err)
	}
	index := &ocispec.Index{}
	signatures := map[string]ocispec.Descriptor{}
	most := map[string]int{}
	for _, file := range files {
		digest := "sha256:" + file.Name()
		if !image.DigestForm.MatchString(digest) || !c.looksLikeManifest(digest) {
			continue
		}
		text, err := c.read(digest, image.MaxManifest)
		if err != nil {
			continue // damaged too, and of no use
		}
		d, layers := c.nameless(text)
		subject := d.Annotations[annotationSubject]
		switch {
		case layers == 0:
		case d.ArtifactType != cosignLayer:
			index.Manifests = append(index.Manifests, d)
		case layers > most[subject]: // the tag names one manifest, and more signatures come to it
			signatures[subject], most[subject] = d, layers
		}
		if len(index.Manifests)+len(signatures) == maxRebuilt {
			break
		}
	}
	index.Manifests = slices.AppendSeq(index.Manifests, maps.Values(signatures))
	slices.SortFunc(index.Manifests, func(a, b ocispec.Descriptor) int { return cmp.Compare(a.Digest, b.Digest) })
	return index, nil
}

// looksLikeManifest says whether a blob can be a manifest by its size and its beginning, so that
// modules are not read.
func (c *Cache) looksLikeManifest(digest string) bool {
	f, err := os.Open(c.blobPath(digest))
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > image.MaxManifest {
		return false
	}
	begin := make([]byte, 64)
	n, err := io.ReadFull(f, begin)
	return (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && bytes.HasPrefix(bytes.TrimLeft(begin[:n], " \t\r\n"), []byte("{"))
}

// nameless returns the entry of a manifest without the name that a rebuilt index cannot know, and
// how many layers the manifest has: 0 if it is none that the cache lists, or parts are missing.
func (c *Cache) nameless(text []byte) (d ocispec.Descriptor, layers int) {
	mediaType, err := image.ManifestType("", text)
	var m ocispec.Manifest
	if err != nil || image.Strict(text, &m) != nil || !c.hasAll(m.Layers) {
		return d, 0
	}
	d = image.Describe(mediaType, text)
	if _, err := image.Read("", text, maxLoaded); err == nil {
		if !c.hasAll([]ocispec.Descriptor{m.Config}) {
			return d, 0
		}
		return d, len(m.Layers)
	}
	subject := ""
	if m.Subject != nil {
		subject, d.ArtifactType = string(m.Subject.Digest), image.ArtifactType(&m)
		if _, _, err := readAttachment(text, subject); err != nil {
			return d, 0
		}
	} else if _, err := readCosign("", text); err == nil && c.hasAll([]ocispec.Descriptor{m.Config}) {
		subject, d.ArtifactType = c.signedBy(&m), cosignLayer
	}
	if !image.DigestForm.MatchString(subject) {
		return d, 0
	}
	d.Annotations = map[string]string{annotationSubject: subject}
	return d, len(m.Layers)
}

// hasAll says whether the cache has all of these blobs.
func (c *Cache) hasAll(parts []ocispec.Descriptor) bool {
	return !slices.ContainsFunc(parts, func(d ocispec.Descriptor) bool {
		return !image.DigestForm.MatchString(string(d.Digest)) || !c.has(string(d.Digest), d.Size)
	})
}

// signedBy returns the digest of the artifact that signatures of cosign are for. Their manifest
// does not state it and their tag is lost, but what is signed has it. It is only a hint where to
// look for them: who verifies a signature holds the digest in it against the artifact.
func (c *Cache) signedBy(m *ocispec.Manifest) string {
	for _, layer := range m.Layers {
		var payload struct {
			Critical struct {
				Image struct {
					Digest string `json:"docker-manifest-digest"`
				} `json:"image"`
			} `json:"critical"`
		}
		text, err := c.read(string(layer.Digest), layer.Size)
		if err == nil && image.Strict(text, &payload) == nil && image.DigestForm.MatchString(payload.Critical.Image.Digest) {
			return payload.Critical.Image.Digest
		}
	}
	return ""
}
