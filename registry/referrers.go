package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/registry/internal/image"
)

// The types of what is attached to plugins.
const (
	// TypeSignature is a DSSE envelope over a statement about the artifact's digest.
	TypeSignature = "application/vnd.anchor-host.signature.v1"
	// TypeConformance is a report of the conformance kit, in JSON.
	TypeConformance = "application/vnd.anchor-host.conformance.v1+json"
	// TypeSBOM is a list of what the module is made of, as SPDX in JSON.
	TypeSBOM = "application/spdx+json"
	// TypeReadme is a description in Markdown.
	TypeReadme = "text/markdown"
)

const (
	// maxAttachment is the largest attachment that is read, in bytes.
	maxAttachment = 16 << 20
	// maxAttachments is how many attachments of one plugin are listed, maxAttached how many
	// bytes all of them may have.
	maxAttachments = 1000
	maxAttached    = 64 << 20
)

// Attachment is a document that belongs to an artifact.
type Attachment struct {
	// Type says what it is: TypeSignature, TypeReadme or another media type.
	Type string
	// Title is the name of a file for it, such as "README.md"; it may be empty.
	Title string
	// Digest names its manifest. Attach ignores it.
	Digest string
	// Data is the document.
	Data []byte
}

// Attach adds a document to an artifact, which the reference names by digest, and returns the
// digest of the new manifest. To attach the same document again changes nothing. If the registry
// has no API for attachments, they are listed under a tag, as the OCI specification says.
//
// Errors wrap ErrReference, ErrTooLarge, or those of Push.
func (c *Client) Attach(ctx context.Context, ref Reference, a Attachment) (added string, err error) {
	switch {
	case ref.Digest == "":
		return "", errkind.As(ErrReference, fmt.Errorf("attach to %s: names no digest, add @sha256:…", ref))
	case a.Type == "" || len(a.Data) == 0:
		return "", errkind.As(ErrReference, fmt.Errorf("attach to %s: the attachment has no type or no data", ref))
	case len(a.Data) > maxAttachment:
		return "", errkind.As(ErrTooLarge, fmt.Errorf("attach to %s: %s has %d bytes, the limit is %d", ref, a.Type, len(a.Data), maxAttachment))
	case c.options.Offline:
		return "", errkind.As(ErrOffline, fmt.Errorf("attach to %s: the client is offline", ref))
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	if added, err = c.attach(ctx, ref, a); err != nil {
		return "", fmt.Errorf("attach to %s: %w", ref, pushFailed(err))
	}
	return added, nil
}

func (c *Client) attach(ctx context.Context, ref Reference, a Attachment) (added string, err error) {
	subject, _, err := c.fetchManifest(ctx, ref)
	if err != nil {
		return "", err
	}
	mediaType, err := image.ManifestType("", subject)
	if err != nil {
		return "", err
	}
	manifest, err := attachmentManifest(image.Describe(mediaType, subject), a)
	if err != nil {
		return "", err
	}
	repo := c.repository(ctx, site{ref.Host, ref.Repository})
	for _, blob := range [][]byte{emptyConfig, a.Data} {
		if err := c.pushBlob(ctx, repo, ref, blob, false); err != nil {
			return "", err
		}
	}
	want := image.Describe(ocispec.MediaTypeImageManifest, manifest)
	return string(want.Digest), c.explained(ref.Host, repo.Manifests().Push(ctx, want, bytes.NewReader(manifest)))
}

var emptyConfig = []byte("{}")

// attachmentManifest makes the manifest of a document. Equal documents have equal manifests.
func attachmentManifest(subject ocispec.Descriptor, a Attachment) ([]byte, error) {
	created, err := createdAt(time.Time{})
	if err != nil {
		return nil, err
	}
	layer := image.Describe(a.Type, a.Data)
	if a.Title != "" {
		layer.Annotations = map[string]string{ocispec.AnnotationTitle: a.Title}
	}
	return json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: a.Type,
		Config: image.Describe(ocispec.MediaTypeEmptyJSON, emptyConfig), Layers: []ocispec.Descriptor{layer}, Subject: &subject,
		Annotations: map[string]string{ocispec.AnnotationCreated: created},
	})
}

// Referrers fetches what is attached to an artifact, which the reference names by digest. of
// selects a type; "" takes all. Documents are verified and kept in the cache; an offline client
// returns those that it has. The result is sorted by type and digest. Whoever may push to the
// repository may attach: only a signature says who made something.
//
// Errors wrap ErrReference, or are those of Pull.
func (c *Client) Referrers(ctx context.Context, ref Reference, of string) ([]Attachment, error) {
	if ref.Digest == "" {
		return nil, errkind.As(ErrReference, fmt.Errorf("list the attachments of %s: names no digest, add @sha256:…", ref))
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	var all []Attachment
	var err error
	if c.options.Offline {
		all, err = c.cache.attachments(ref, of)
	} else {
		all, err = c.referrers(ctx, ref, of)
	}
	if err != nil {
		return nil, fmt.Errorf("list the attachments of %s: %w", ref, err)
	}
	slices.SortFunc(all, func(a, b Attachment) int {
		return slices.Compare([]string{a.Type, a.Digest}, []string{b.Type, b.Digest})
	})
	return all, nil
}

func (c *Client) referrers(ctx context.Context, ref Reference, of string) (all []Attachment, err error) {
	unlock, err := c.cache.use(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// A mirror may lack what was attached later, so the registry comes first.
	sites := c.sites(ref)
	slices.Reverse(sites)
	var failed []error
	for i, s := range sites {
		listed, err := c.listReferrers(ctx, s, ref)
		if err == nil {
			sites[0], sites[i] = s, sites[0]
			return c.attachments(ctx, sites, ref, of, listed)
		}
		failed = append(failed, err)
	}
	slices.Reverse(failed) // the error is of the kind of the registry's
	return nil, allFailed(failed)
}

// listReferrers asks one site for the manifests of attachments. It asks for all types, as
// registries disagree on what the type is.
func (c *Client) listReferrers(ctx context.Context, s site, ref Reference) (all []ocispec.Descriptor, err error) {
	subject := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(ref.Digest)}
	err = c.repository(ctx, s).Referrers(ctx, subject, "", func(page []ocispec.Descriptor) error {
		if all = append(all, page...); len(all) > maxAttachments {
			return errkind.As(ErrTooLarge, fmt.Errorf("has more than %d attachments", maxAttachments))
		}
		return nil
	})
	if errors.Is(err, ErrTooLarge) {
		return nil, err
	}
	return all, c.explained(s.host, err)
}

// attachments fetches the documents that a registry lists, within the limits for all of them.
func (c *Client) attachments(ctx context.Context, sites []site, ref Reference, of string, listed []ocispec.Descriptor) (all []Attachment, err error) {
	var notes []ocispec.Descriptor
	var total int64
	seen := map[digest.Digest]bool{}
	for _, d := range listed {
		if seen[d.Digest] {
			continue
		}
		seen[d.Digest] = true
		text, err := c.attached(ctx, sites, d)
		if err != nil {
			return nil, err
		}
		if total += int64(len(text)); total > maxAttached {
			return nil, tooMuchAttached()
		}
		a, layer, err := readAttachment(text, ref.Digest)
		if errors.Is(err, ErrNotPlugin) || err == nil && of != "" && a.Type != of {
			continue // what other tools attach may have any form
		}
		if total += layer.Size; err == nil && total > maxAttached {
			err = tooMuchAttached()
		}
		if err == nil {
			err = c.document(ctx, sites, &a, layer, text)
		}
		if err != nil {
			return nil, fmt.Errorf("attachment %s: %w", d.Digest, err)
		}
		note := entry(Reference{Host: ref.Host, Repository: ref.Repository, Digest: a.Digest}, image.Describe(ocispec.MediaTypeImageManifest, text))
		note.ArtifactType, note.Annotations[annotationSubject] = a.Type, ref.Digest
		all, notes = append(all, a), append(notes, note)
	}
	return all, c.cache.note(ctx, notes...)
}

func tooMuchAttached() error {
	return errkind.As(ErrTooLarge, fmt.Errorf("the attachments have more than %d bytes together", maxAttached))
}

// attached returns the manifest of an attachment.
func (c *Client) attached(ctx context.Context, sites []site, d ocispec.Descriptor) (text []byte, err error) {
	if err := image.CheckDescriptor("attachment", d, image.MaxManifest); err != nil {
		return nil, err
	}
	if text, err = c.cache.read(string(d.Digest), image.MaxManifest); err == nil {
		return text, nil
	}
	text, _, err = c.manifestFromAny(ctx, sites, Reference{Digest: string(d.Digest)})
	return text, err
}

// document fetches what an attachment consists of, and keeps its manifest.
func (c *Client) document(ctx context.Context, sites []site, a *Attachment, layer ocispec.Descriptor, manifest []byte) (err error) {
	if err := c.fetch(ctx, sites, layer, nil); err != nil {
		return err
	}
	if a.Data, err = c.cache.read(string(layer.Digest), layer.Size); err != nil {
		return err
	}
	return errors.Join(c.cache.put(manifest), c.cache.put(emptyConfig))
}

// readAttachment reads the manifest of an attachment to a digest: one layer, the document.
func readAttachment(text []byte, subject string) (a Attachment, layer ocispec.Descriptor, err error) {
	if _, err := image.ManifestType("", text); err != nil {
		return a, layer, err
	}
	var m ocispec.Manifest
	if err := image.Strict(text, &m); err != nil {
		return a, layer, errkind.As(ErrNotPlugin, fmt.Errorf("manifest: is not valid JSON: %w", image.Cause(err)))
	}
	switch {
	case m.Subject == nil || string(m.Subject.Digest) != subject:
		return a, layer, errkind.As(ErrDigest, errors.New("manifest: belongs to another artifact"))
	case len(m.Layers) != 1:
		return a, layer, errkind.As(ErrNotPlugin, fmt.Errorf("layers: there are %d, want one: the document", len(m.Layers)))
	}
	layer = m.Layers[0]
	a = Attachment{Type: image.ArtifactType(&m), Title: layer.Annotations[ocispec.AnnotationTitle], Digest: image.DigestOf(text)}
	return a, layer, image.CheckDescriptor("layer", layer, maxAttachment)
}

// attachments reads what the cache has of an artifact.
func (c *Cache) attachments(ref Reference, of string) (all []Attachment, err error) {
	index, err := c.repaired()
	if err != nil {
		return nil, err
	}
	for _, e := range entries(under(index, ref)) {
		if e.Subject != ref.Digest || of != "" && e.ArtifactType != of {
			continue
		}
		text, err := c.read(e.Reference.Digest, image.MaxManifest)
		if err != nil {
			return nil, err
		}
		a, layer, err := readAttachment(text, ref.Digest)
		if err != nil {
			return nil, err
		}
		if a.Data, err = c.read(string(layer.Digest), layer.Size); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(b Attachment) bool { return b.Digest == a.Digest }) {
			all = append(all, a)
		}
	}
	return all, nil
}
