package registry

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry/internal/image"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

// The limits of an archive that is loaded.
const (
	maxArchive        = 4 << 30
	maxArchiveEntries = 20_000
)

// withAttachments returns an artifact and what an index lists for it.
func withAttachments(index *ocispec.Index, d ocispec.Descriptor) []ocispec.Descriptor {
	all := []ocispec.Descriptor{d}
	for _, a := range index.Manifests {
		if subjectOf(a) == string(d.Digest) {
			all = append(all, a)
		}
	}
	return all
}

// Save writes artifacts of the cache, with what is attached to them, as one tar: an OCI image
// layout, which other tools read too. References name a tag or a digest. The same artifacts give
// the same bytes. Each file is verified; the error says what is missing and how to get it.
func (c *Cache) Save(w io.Writer, refs ...Reference) error {
	repaired, err := c.repaired()
	if err != nil {
		return err
	}
	var listed []ocispec.Descriptor
	for _, ref := range refs {
		if err := ref.versioned(); err != nil {
			return err
		}
		found, index := false, under(repaired, ref)
		for _, d := range index.Manifests {
			if !strings.HasPrefix(strings.TrimPrefix(d.Annotations[ocispec.AnnotationRefName], Scheme), ref.Name()) {
				continue // to parse thousands takes its time
			}
			name, err := ParseReference(d.Annotations[ocispec.AnnotationRefName])
			is := err == nil && name.Name() == ref.Name() && d.Annotations[annotationSubject] == "" &&
				(ref.Digest == string(d.Digest) || ref.Digest == "" && name.Tag == ref.Tag)
			if !is {
				continue
			}
			listed, found = append(listed, withAttachments(index, d)...), true
		}
		if !found && ref.Digest != "" { // its tag names another artifact by now
			if text, err := c.read(ref.Digest, image.MaxManifest); err == nil {
				mediaType, err := image.ManifestType("", text)
				if err != nil {
					return fmt.Errorf("save %s: %w", ref, err)
				}
				ref.Tag = ""
				listed, found = append(listed, withAttachments(index, entry(ref, image.Describe(mediaType, text)))...), true
			}
		}
		if !found {
			return errkind.As(ErrNotFound, fmt.Errorf("save %s: is not in the cache, pull it first", ref))
		}
	}
	return c.write(w, listed)
}

// write writes the layout of artifacts.
func (c *Cache) write(w io.Writer, listed []ocispec.Descriptor) error {
	slices.SortFunc(listed, func(a, b ocispec.Descriptor) int { return strings.Compare(entryKey(a), entryKey(b)) })
	listed = slices.CompactFunc(listed, func(a, b ocispec.Descriptor) bool { return entryKey(a) == entryKey(b) })
	text, err := indexText(listed)
	if err != nil {
		return err
	}
	var blobs []string
	for _, d := range listed {
		blobs = append(blobs, c.parts(string(d.Digest))...)
	}
	slices.Sort(blobs)
	t := tar.NewWriter(w)
	if err := errors.Join(addFile(t, ocispec.ImageLayoutFile, []byte(layoutText)), addFile(t, ocispec.ImageIndexFile, text)); err != nil {
		return err
	}
	for _, digest := range slices.Compact(blobs) {
		blob, err := c.read(digest, maxArchive)
		if err != nil {
			return fmt.Errorf("save: %w: pull the artifact again", err)
		}
		if err := addFile(t, blobsFolder+digest[len("sha256:"):], blob); err != nil {
			return err
		}
	}
	return t.Close()
}

func entryKey(d ocispec.Descriptor) string {
	return d.Annotations[ocispec.AnnotationRefName] + " " + string(d.Digest)
}

const blobsFolder = "blobs/sha256/"

func addFile(t *tar.Writer, name string, text []byte) error {
	err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text)), Format: tar.FormatUSTAR})
	if err == nil {
		_, err = t.Write(text)
	}
	if err != nil {
		return fmt.Errorf("save: write %s: %w", name, err)
	}
	return nil
}

// Load adds the artifacts of a tar that holds an OCI image layout, such as Save writes, to the
// cache, and returns what it lists. An archive is loaded whole or not at all. Errors wrap
// ErrArchive, ErrDigest or ErrTooLarge and name the entry.
func (c *Cache) Load(ctx context.Context, r io.Reader) ([]Entry, error) {
	unlock, err := c.use(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	folder, err := os.MkdirTemp(filepath.Join(c.dir, "ingest"), "load-*")
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	defer os.RemoveAll(folder)
	l := newLoading(folder)
	if err := l.read(ctx, tar.NewReader(&io.LimitedReader{R: r, N: maxArchive})); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	listed, err := l.check()
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	for digest := range l.blobs {
		if err := c.adopt(l.path(digest), digest); err != nil {
			return nil, err
		}
	}
	if err := c.note(ctx, listed...); err != nil {
		return nil, err
	}
	return entries(&ocispec.Index{Manifests: listed}), nil
}

// loading is an archive on its way into a cache.
type loading struct {
	folder string
	index  *ocispec.Index
	layout bool
	// blobs are the sizes of the verified blobs in folder.
	blobs map[string]int64
	// manifests are what is known of those that are complete: type and subject.
	manifests map[digest.Digest]ocispec.Manifest
}

func newLoading(folder string) *loading {
	return &loading{folder: folder, blobs: map[string]int64{}, manifests: map[digest.Digest]ocispec.Manifest{}}
}

func (l *loading) path(digest string) string {
	return filepath.Join(l.folder, digest[len("sha256:"):])
}

func (l *loading) read(ctx context.Context, t *tar.Reader) error {
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return errkind.As(ErrArchive, fmt.Errorf("read the tar: %w", kind.Safe(err)))
		}
		if n == maxArchiveEntries {
			return errkind.As(ErrTooLarge, fmt.Errorf("the archive has more than %d entries", maxArchiveEntries))
		}
		if err := l.entry(h, t); err != nil {
			return err
		}
	}
}

// entry takes one entry of the archive. It accepts nothing but the files of a layout.
func (l *loading) entry(h *tar.Header, from io.Reader) error {
	name, err := image.EntryName(h.Name)
	switch {
	case err != nil:
		return errkind.As(ErrArchive, err)
	case h.Typeflag == tar.TypeDir:
		return nil
	case h.Typeflag != tar.TypeReg:
		return errkind.As(ErrArchive, fmt.Errorf("the entry %s is a link or a device, want regular files", plain.Path(h.Name)))
	case sparse(h):
		return errkind.As(ErrArchive, fmt.Errorf("the entry %s is a sparse file, want its bytes", plain.Path(h.Name)))
	case name == ocispec.ImageLayoutFile:
		l.layout = true
		return nil
	case name == ocispec.ImageIndexFile && h.Size <= maxIndex:
		return l.takeIndex(from)
	case name == ocispec.ImageIndexFile:
		return errkind.As(ErrTooLarge, fmt.Errorf("index.json has %d bytes, the limit is %d", h.Size, maxIndex))
	}
	digest := "sha256:" + strings.TrimPrefix(name, blobsFolder)
	switch {
	case !strings.HasPrefix(name, blobsFolder) || !image.DigestForm.MatchString(digest):
		return errkind.As(ErrArchive, fmt.Errorf("the entry %s does not belong to an OCI image layout", plain.Path(h.Name)))
	case h.Size <= 0 || h.Size > maxLoaded:
		return errkind.As(ErrTooLarge, fmt.Errorf("the entry %s has %d bytes, want 1 to %d", name, h.Size, maxLoaded))
	case l.blobs[digest] > 0:
		return errkind.As(ErrArchive, fmt.Errorf("the entry %s is there twice", name))
	}
	return l.takeBlob(digest, h.Size, from)
}

// sparse says whether an entry has holes: a few bytes of an archive would fill a disk.
func sparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// maxLoaded is the largest file of an archive, in bytes.
const maxLoaded = 1 << 30

func (l *loading) takeIndex(from io.Reader) error {
	text, err := io.ReadAll(from)
	if err != nil {
		return errkind.As(ErrArchive, fmt.Errorf("read index.json: %w", err))
	}
	if l.index != nil {
		return errkind.As(ErrArchive, errors.New("index.json is there twice"))
	}
	if l.index, err = parseIndex(text); err != nil {
		return errkind.As(ErrArchive, fmt.Errorf("index.json: %w", err))
	}
	return nil
}

func (l *loading) takeBlob(digest string, size int64, from io.Reader) error {
	f, err := os.OpenFile(l.path(digest), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if n, err := io.Copy(f, from); full(err) {
		return writeError(f.Name(), err)
	} else if err != nil || n != size {
		return errkind.As(ErrArchive, fmt.Errorf("the entry of %s ends after %d of %d bytes", digest, n, size))
	}
	sum, err := hashFile(f, size)
	if err != nil {
		return err
	}
	if sum.digest() != digest {
		return errkind.As(ErrDigest, fmt.Errorf("the entry of %s does not match its digest", digest))
	}
	l.blobs[digest] = size
	return f.Close()
}

// check holds the index against the blobs, and returns what the cache is to list.
func (l *loading) check() (listed []ocispec.Descriptor, err error) {
	if !l.layout || l.index == nil {
		return nil, errkind.As(ErrArchive, errors.New("the archive has no oci-layout or no index.json, want an OCI image layout in a tar, as \"plugin save\" writes it"))
	}
	for _, d := range l.index.Manifests {
		ref, err := ParseReference(d.Annotations[ocispec.AnnotationRefName])
		if err != nil {
			return nil, errkind.As(ErrArchive, fmt.Errorf("index.json: %w", err))
		}
		manifest, err := l.complete(d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ref, err)
		}
		e := entry(ref.At(string(d.Digest)), d)
		if subject := d.Annotations[annotationSubject]; subject != "" {
			if manifest.Subject == nil || string(manifest.Subject.Digest) != subject {
				return nil, errkind.As(ErrArchive, fmt.Errorf("%s: belongs to another artifact than index.json says", ref))
			}
			e.ArtifactType, e.Annotations[annotationSubject] = manifest.ArtifactType, subject
			e.Annotations[ocispec.AnnotationRefName] = ref.Name() + "@" + string(d.Digest) // never a tag
		}
		listed = append(listed, e)
	}
	return listed, nil
}

// complete checks that the archive has all parts of a manifest, once.
func (l *loading) complete(d ocispec.Descriptor) (ocispec.Manifest, error) {
	if m, ok := l.manifests[d.Digest]; ok {
		return m, nil
	}
	if size, ok := l.blobs[string(d.Digest)]; !ok || size > image.MaxManifest {
		return ocispec.Manifest{}, errkind.As(ErrArchive, fmt.Errorf("the archive has no manifest %s of at most %d bytes", image.Shown(d), image.MaxManifest))
	}
	text, err := os.ReadFile(l.path(string(d.Digest)))
	if err != nil {
		return ocispec.Manifest{}, err
	}
	if _, err := image.ManifestType("", text); err != nil {
		return ocispec.Manifest{}, err
	}
	var m ocispec.Manifest
	if err := image.Strict(text, &m); err != nil {
		return m, errkind.As(ErrArchive, fmt.Errorf("manifest: is not valid JSON: %w", image.Cause(err)))
	}
	for _, part := range append([]ocispec.Descriptor{m.Config}, m.Layers...) {
		if size, ok := l.blobs[string(part.Digest)]; !ok || size != part.Size {
			return m, errkind.As(ErrArchive, fmt.Errorf("the archive has no %s of %d bytes", image.Shown(part), part.Size))
		}
	}
	known := ocispec.Manifest{ArtifactType: image.ArtifactType(&m)}
	if m.Subject != nil {
		known.Subject = &ocispec.Descriptor{Digest: m.Subject.Digest}
	}
	l.manifests[d.Digest] = known
	return known, nil
}
