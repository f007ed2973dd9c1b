package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry/internal/image"
)

const (
	// cosignLayer is the type of a signature of cosign that is kept under a tag.
	cosignLayer = "application/vnd.dev.cosign.simplesigning.v1+json"
	// cosignAnnotation has the signature itself.
	cosignAnnotation = "dev.cosignproject.cosign/signature"
	// maxCosignPayload is far more than such a document has, in bytes.
	maxCosignPayload = 64 << 10
	// maxCosignSignatures is how many signatures of one artifact are read.
	maxCosignSignatures = 64
)

// CosignSignature is a signature of cosign in the form that is kept under a tag, as versions
// before 3 write it by default.
type CosignSignature struct {
	// Payload is what was signed. Nothing in it is checked.
	Payload []byte
	// Signature is in base64.
	Signature string
}

// CosignSignatures returns the signatures under the tag that cosign gives an artifact, none if
// there is no such tag. The reference names the artifact by digest. An offline client returns
// those of the cache. Whoever may push may write them: package trust says whose count.
//
// Errors wrap ErrReference, or are those of Pull.
func (c *Client) CosignSignatures(ctx context.Context, ref Reference) ([]CosignSignature, error) {
	digits, ok := strings.CutPrefix(ref.Digest, "sha256:")
	if !ok {
		return nil, errkind.As(ErrReference, fmt.Errorf("list the signatures of %s: names no digest, add @sha256:…", ref))
	}
	ref.Tag, ref.Digest = cosignTag(digits), ""
	ctx, cancel := c.within(ctx)
	defer cancel()
	all, err := c.cosignSignatures(ctx, ref)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the signatures under %s: %w", ref, err)
	}
	return all, nil
}

// cosignTag is the tag for the signatures of the artifact whose digest has these digits.
func cosignTag(digits string) string { return "sha256-" + digits + ".sig" }

// subjectOf returns the digest that an entry of an index is attached to, "" for none: the entry says
// so, or has the tag of signatures.
func subjectOf(d ocispec.Descriptor) string {
	if subject := d.Annotations[annotationSubject]; subject != "" {
		return subject
	}
	name := d.Annotations[ocispec.AnnotationRefName]
	digits := strings.TrimSuffix(strings.TrimPrefix(name[strings.LastIndexByte(name, ':')+1:], "sha256-"), ".sig")
	if !strings.HasSuffix(name, ":"+cosignTag(digits)) {
		return ""
	}
	return "sha256:" + digits
}

func (c *Client) cosignSignatures(ctx context.Context, ref Reference) (all []CosignSignature, err error) {
	if c.options.Offline {
		if ref.Digest, err = c.cache.tagged(ref); err != nil {
			return nil, err
		}
	}
	unlock, err := c.cache.use(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	text, mediaType, err := c.fetchManifest(ctx, ref)
	if err != nil {
		return nil, err
	}
	m, err := readCosign(mediaType, text)
	if err != nil {
		return nil, err
	}
	// Nothing is read from the config, but an archive of the cache must be complete.
	if _, err := c.blob(ctx, ref, m.Config); err != nil {
		return nil, err
	}
	for _, layer := range m.Layers {
		payload, err := c.blob(ctx, ref, layer)
		if err != nil {
			return nil, err
		}
		all = append(all, CosignSignature{Payload: payload, Signature: layer.Annotations[cosignAnnotation]})
	}
	if c.options.Offline {
		return all, nil
	}
	if err := c.cache.put(text); err != nil {
		return nil, err
	}
	note := entry(ref.At(image.DigestOf(text)), image.Describe(ocispec.MediaTypeImageManifest, text))
	note.ArtifactType = cosignLayer
	return all, c.cache.note(ctx, note)
}

// blob returns a small blob of the cache. If the cache lacks it, it is fetched.
func (c *Client) blob(ctx context.Context, ref Reference, d ocispec.Descriptor) ([]byte, error) {
	text, err := c.cache.read(string(d.Digest), d.Size)
	if err == nil || c.options.Offline {
		return text, err
	}
	if err := c.fetch(ctx, c.sites(ref), d, nil); err != nil {
		return nil, err
	}
	return c.cache.read(string(d.Digest), d.Size)
}

// readCosign reads a manifest whose layers are signatures, all of them.
func readCosign(mediaType string, text []byte) (*ocispec.Manifest, error) {
	if _, err := image.ManifestType(mediaType, text); err != nil {
		return nil, err
	}
	var m ocispec.Manifest
	if err := image.Strict(text, &m); err != nil {
		return nil, errkind.As(ErrNotPlugin, fmt.Errorf("manifest: is not valid JSON: %w", image.Cause(err)))
	}
	if len(m.Layers) > maxCosignSignatures {
		return nil, errkind.As(ErrTooLarge, fmt.Errorf("has more than %d signatures", maxCosignSignatures))
	}
	if err := image.CheckDescriptor("config", m.Config, maxCosignPayload); err != nil {
		return nil, err
	}
	for _, layer := range m.Layers {
		if layer.MediaType != cosignLayer {
			return nil, errkind.As(ErrNotPlugin, fmt.Errorf("layers: one is %s, want only %s: sign the plugin again with cosign", plain.Name(layer.MediaType), cosignLayer))
		}
		if err := image.CheckDescriptor("layer", layer, maxCosignPayload); err != nil {
			return nil, err
		}
	}
	return &m, nil
}
