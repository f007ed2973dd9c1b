package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/registry/internal/image"
)

// maxIndex is the largest index.json that is read, in bytes: more than ten thousand artifacts.
const maxIndex = 8 << 20

// annotationSubject is, in the index of the cache, the digest that an attachment belongs to.
const annotationSubject = "dev.anchor-host.subject"

// Entry is one artifact in a cache.
type Entry struct {
	// Reference is the name under which it came, with its digest.
	Reference Reference
	// Subject is the digest that an attachment belongs to, "" for a plugin.
	Subject string
	// ArtifactType says what an attachment is, "" for a plugin.
	ArtifactType string
}

// Entries lists what a cache has, sorted by reference. The error names the file.
func (c *Cache) Entries() ([]Entry, error) {
	index, err := c.index()
	if err != nil {
		return nil, err
	}
	return entries(index), nil
}

func entries(index *ocispec.Index) (all []Entry) {
	for _, d := range index.Manifests {
		ref, err := ParseReference(d.Annotations[ocispec.AnnotationRefName])
		if err != nil || !image.DigestForm.MatchString(string(d.Digest)) {
			continue // another tool's entry; its content is left alone
		}
		all = append(all, Entry{Reference: ref.At(string(d.Digest)), Subject: d.Annotations[annotationSubject], ArtifactType: d.ArtifactType})
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.Reference.String(), b.Reference.String()) })
	return all
}

// errDamaged marks an index that cannot be read as one.
var errDamaged = errors.New("damaged index")

// index reads index.json. A missing file is an empty index. The error wraps errDamaged if the
// file holds something else, such as nothing after a power cut.
func (c *Cache) index() (*ocispec.Index, error) {
	path := filepath.Join(c.dir, ocispec.ImageIndexFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &ocispec.Index{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cache: open its index: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIndex+1))
	if err != nil {
		return nil, fmt.Errorf("cache: read %s: %w", path, err)
	}
	index, err := parseIndex(text)
	if err != nil {
		return nil, errkind.As(errDamaged, fmt.Errorf("cache: read %s: %w (repair it with: anchor-host plugin save REFERENCE, or load an archive with: anchor-host plugin install --from FILE)", path, err))
	}
	return index, nil
}

func parseIndex(text []byte) (*ocispec.Index, error) {
	if len(text) > maxIndex {
		return nil, errkind.As(ErrTooLarge, fmt.Errorf("has more than %d bytes", maxIndex))
	}
	var index ocispec.Index
	if err := image.Strict(text, &index); err != nil {
		return nil, image.Cause(err)
	}
	return &index, nil
}

// note adds artifacts to the index. A tag that was there names the new artifact afterwards.
func (c *Cache) note(ctx context.Context, all ...ocispec.Descriptor) error {
	if known, err := c.index(); err == nil && listed(known, all) {
		return nil
	}
	return c.change(ctx, func(index *ocispec.Index) { index.Manifests = merged(index.Manifests, all) })
}

// relist gives a plugin of the cache the name that a damaged index has lost, so that its tag is
// known offline. What has a name stays as it is. It is no matter if that fails: the plugin is
// there.
func (c *Cache) relist(ctx context.Context, d ocispec.Descriptor) {
	known, err := c.index()
	if err == nil && slices.ContainsFunc(known.Manifests, func(old ocispec.Descriptor) bool {
		name := old.Annotations[ocispec.AnnotationRefName]
		return name != "" && old.Digest == d.Digest || name == d.Annotations[ocispec.AnnotationRefName]
	}) {
		return
	}
	if unlock, err := c.use(ctx); err == nil {
		defer unlock()
		_ = c.note(ctx, d)
	}
}

// listed says whether an index has all of the entries already.
func listed(index *ocispec.Index, all []ocispec.Descriptor) bool {
	known := map[string]bool{}
	for _, d := range index.Manifests {
		known[entryKey(d)] = true
	}
	return !slices.ContainsFunc(all, func(d ocispec.Descriptor) bool { return !known[entryKey(d)] })
}

// merged adds entries to those of an index. A new one takes the place of an old one with its name,
// if this is a tag's or means the same artifact. An artifact that lost its name gets it back. The
// work grows with the number of entries, as archives of others have thousands.
func merged(old, added []ocispec.Descriptor) (all []ocispec.Descriptor) {
	names, digests := map[string]bool{}, map[digest.Digest]bool{}
	for _, d := range slices.Backward(added) {
		if place := placeOf(d); !names[place] {
			names[place], all = true, append(all, d)
		}
		digests[d.Digest] = true
	}
	for _, d := range old {
		if nameless := d.Annotations[ocispec.AnnotationRefName] == ""; names[placeOf(d)] || nameless && digests[d.Digest] {
			continue
		}
		all = append(all, d)
	}
	return all
}

// placeOf is what only one entry of an index may have: the name of a tag, or a name and a digest.
func placeOf(d ocispec.Descriptor) string {
	name := d.Annotations[ocispec.AnnotationRefName]
	if ref, err := ParseReference(name); err == nil && ref.Tag != "" {
		return name
	}
	return entryKey(d)
}

// change rewrites the index under its lock. A damaged one is rebuilt first.
func (c *Cache) change(ctx context.Context, edit func(*ocispec.Index)) error {
	unlock, err := c.lock(ctx, "index", false)
	if err != nil {
		return err
	}
	defer unlock()
	index, err := c.repaired()
	if err != nil {
		return err
	}
	edit(index)
	text, err := indexText(index.Manifests)
	if err != nil {
		return err
	}
	return c.replace(filepath.Join(c.dir, ocispec.ImageIndexFile), text)
}

// indexText writes an index, sorted, so that equal content has equal bytes.
func indexText(manifests []ocispec.Descriptor) ([]byte, error) {
	slices.SortFunc(manifests, func(a, b ocispec.Descriptor) int {
		return cmp.Or(cmp.Compare(a.Annotations[ocispec.AnnotationRefName], b.Annotations[ocispec.AnnotationRefName]), cmp.Compare(a.Digest, b.Digest))
	})
	text, err := json.Marshal(ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		Manifests: append([]ocispec.Descriptor{}, manifests...)})
	if err == nil && len(text) > maxIndex {
		err = errkind.As(ErrTooLarge, fmt.Errorf("has more than %d bytes", maxIndex))
	}
	if err != nil {
		return nil, fmt.Errorf("cache: write its index: %w: prune the cache", err)
	}
	return text, nil
}

// entry returns the descriptor under which the index lists an artifact.
func entry(ref Reference, manifest ocispec.Descriptor) ocispec.Descriptor {
	name := ref.String()[len(Scheme):]
	if ref.Tag != "" {
		name = ref.At("").String()[len(Scheme):]
	}
	return ocispec.Descriptor{MediaType: manifest.MediaType, ArtifactType: manifest.ArtifactType, Digest: manifest.Digest, Size: manifest.Size,
		Annotations: map[string]string{ocispec.AnnotationRefName: name}}
}

// tagged returns the digest that a tag named when it was last fetched.
func (c *Cache) tagged(ref Reference) (string, error) {
	index, err := c.repaired()
	if err != nil {
		return "", err
	}
	for _, e := range entries(under(index, ref)) {
		if e.Subject == "" && e.Reference.At("") == ref.At("") {
			return e.Reference.Digest, nil
		}
	}
	return "", errkind.As(ErrNotFound, fmt.Errorf("cache: has no %s", ref))
}

// under returns an index in which the attachments that lost their names have names in the
// repository of a reference: they belong to a digest, and whoever asks says where it is from.
func under(index *ocispec.Index, ref Reference) *ocispec.Index {
	named := &ocispec.Index{Versioned: index.Versioned}
	taken := map[string]bool{}
	var lost []ocispec.Descriptor
	for _, d := range index.Manifests {
		subject := d.Annotations[annotationSubject]
		if name := d.Annotations[ocispec.AnnotationRefName]; name != "" || !image.DigestForm.MatchString(subject) {
			named.Manifests, taken[name] = append(named.Manifests, d), true
			continue
		}
		e := entry(Reference{Host: ref.Host, Repository: ref.Repository, Digest: string(d.Digest)}, d)
		e.Annotations[annotationSubject] = subject
		if d.ArtifactType == cosignLayer {
			e = entry(Reference{Host: ref.Host, Repository: ref.Repository, Tag: cosignTag(subject[len("sha256:"):])}, d)
		}
		lost = append(lost, e)
	}
	for _, e := range lost {
		if !taken[e.Annotations[ocispec.AnnotationRefName]] { // else it was fetched again since
			named.Manifests = append(named.Manifests, e)
		}
	}
	return named
}

// parts returns the digests that a manifest of the cache consists of, itself included. What is
// missing or unreadable is left out.
func (c *Cache) parts(digest string) []string {
	text, err := c.read(digest, image.MaxManifest)
	var m ocispec.Manifest
	if err != nil || image.Strict(text, &m) != nil {
		return []string{digest}
	}
	all := []string{digest}
	for _, d := range append([]ocispec.Descriptor{m.Config}, m.Layers...) {
		if image.DigestForm.MatchString(string(d.Digest)) {
			all = append(all, string(d.Digest))
		}
	}
	return all
}

// abandoned is the age after which half a download is no longer worth resuming.
const abandoned = 24 * time.Hour

// Prune removes everything that does not belong to the artifacts whose digests are kept, and
// returns how many bytes that freed. Attachments of kept artifacts stay if the index lists them.
// It waits until no other process adds to the cache.
func (c *Cache) Prune(ctx context.Context, keep ...string) (freed int64, err error) {
	unlock, err := c.lock(ctx, "use", false)
	if err != nil {
		return 0, err
	}
	defer unlock()
	needed := map[string]bool{}
	need := func(digest string) {
		if image.DigestForm.MatchString(digest) {
			for _, part := range c.parts(digest) {
				needed[part] = true
			}
		}
	}
	kept := map[string]bool{}
	for _, digest := range keep { // the index may have lost them
		kept[digest] = true
		need(digest)
	}
	err = c.change(ctx, func(index *ocispec.Index) {
		index.Manifests = slices.DeleteFunc(index.Manifests, func(d ocispec.Descriptor) bool {
			if kept[string(d.Digest)] || kept[subjectOf(d)] {
				need(string(d.Digest))
				return false
			}
			return true
		})
	})
	if err != nil {
		return 0, err
	}
	return c.sweep(needed)
}

// sweep removes the blobs that are not needed, and abandoned downloads.
func (c *Cache) sweep(needed map[string]bool) (freed int64, err error) {
	for _, folder := range []string{filepath.Join(c.dir, "blobs", "sha256"), filepath.Join(c.dir, "ingest")} {
		files, err := os.ReadDir(folder)
		if err != nil {
			return freed, fmt.Errorf("cache: list %s: %w", folder, err)
		}
		for _, file := range files {
			info, err := file.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if filepath.Base(folder) == "ingest" && time.Since(info.ModTime()) < abandoned || needed["sha256:"+file.Name()] {
				continue
			}
			if err := os.Remove(filepath.Join(folder, file.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return freed, fmt.Errorf("cache: remove %s: %w", file.Name(), err)
			}
			freed += info.Size()
		}
	}
	return freed, nil
}
