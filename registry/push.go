package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/registry/internal/image"
	"github.com/anchor-host/anchor-host/registry/internal/outbound"
)

// PushOptions are the options of Push.
type PushOptions struct {
	// Move lets a tag that names another artifact name this one from now on.
	Move bool
}

// Push sends an artifact to the registry of a reference, which must have a tag, and returns the
// reference with the artifact's digest. What the registry has already is not sent. To push the
// same artifact again changes nothing.
//
// Errors wrap ErrReference, ErrExists for a tag of another artifact, ErrOffline, or those of
// Pull that concern the registry.
func (c *Client) Push(ctx context.Context, ref Reference, a *Artifact, o PushOptions) (Reference, error) {
	switch {
	case ref.Tag == "":
		return Reference{}, errkind.As(ErrReference, fmt.Errorf("push %s: names no version, add a tag, such as %s:%s", ref, ref.At(""), a.Version))
	case ref.Digest != "" && ref.Digest != a.Digest:
		return Reference{}, errkind.As(ErrReference, fmt.Errorf("push %s: the digest of the artifact is %s", ref, a.Digest))
	case c.options.Offline:
		return Reference{}, errkind.As(ErrOffline, fmt.Errorf("push %s: the client is offline", ref))
	}
	ref = ref.At(a.Digest)
	ctx, cancel := c.within(ctx)
	defer cancel()
	if err := c.push(ctx, ref, a, o); err != nil {
		return Reference{}, fmt.Errorf("push %s: %w", ref.At(""), pushFailed(err))
	}
	return ref, nil
}

func (c *Client) push(ctx context.Context, ref Reference, a *Artifact, o PushOptions) error {
	s := site{ref.Host, ref.Repository}
	now, _, err := c.manifestFrom(ctx, s, ref.At(""))
	switch {
	case err == nil && image.DigestOf(now) == a.Digest:
		return nil
	case err == nil && !o.Move:
		return errkind.As(ErrExists, fmt.Errorf("the tag %s names %s already: push under a new version, or move the tag with --move", ref.Tag, image.DigestOf(now)))
	case err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDenied):
		return err // some registries deny what does not exist yet; a push says whether it may
	}
	repo := c.repository(ctx, s)
	if err := c.pushBlob(ctx, repo, ref, a.Config, false); err != nil {
		return err
	}
	if err := c.pushBlob(ctx, repo, ref, a.Module, true); err != nil {
		return err
	}
	manifest := image.Describe(ocispec.MediaTypeImageManifest, a.Manifest)
	return c.explained(ref.Host, repo.Manifests().PushReference(ctx, manifest, bytes.NewReader(a.Manifest), ref.Tag))
}

// pushBlob sends bytes, unless the repository has them. An upload that breaks off starts again.
func (c *Client) pushBlob(ctx context.Context, repo *remote.Repository, ref Reference, text []byte, progress bool) error {
	want := ocispec.Descriptor{MediaType: "application/octet-stream", Digest: digest.Digest(image.DigestOf(text)), Size: int64(len(text))}
	report := c.reporter(ref, want.Size, true)
	if there, err := repo.Blobs().Exists(ctx, want); err != nil {
		return c.explained(ref.Host, err)
	} else if there {
		if progress && report != nil {
			report(want.Size)
		}
		return nil
	}
	if progress && report != nil {
		ctx = outbound.WithReport(ctx, report)
	}
	var err error
	for range maxAttempts {
		if err = repo.Blobs().Push(ctx, want, bytes.NewReader(text)); err == nil || ctx.Err() != nil || !brokeOff(err) {
			break
		}
	}
	return c.explained(ref.Host, err)
}

// brokeOff says that a connection ended in the middle of a request.
func brokeOff(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Tags lists the tags of a repository, in the order of the registry, at most ten thousand.
// Errors are those of Pull.
func (c *Client) Tags(ctx context.Context, ref Reference) ([]string, error) {
	if c.options.Offline {
		return nil, errkind.As(ErrOffline, fmt.Errorf("%s: its tags are only known to the registry, and the client is offline", ref))
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	var all []string
	listed := 0
	err := c.repository(ctx, site{ref.Host, ref.Repository}).Tags(ctx, "", func(page []string) error {
		for _, tag := range page {
			if tagForm.MatchString(tag) {
				all = append(all, tag)
			}
		}
		if listed += len(page); listed > maxTags {
			return errkind.As(ErrTooLarge, fmt.Errorf("has more than %d tags", maxTags))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the tags of %s: %w", ref, c.explain(ref.Host, err))
	}
	return all, nil
}

const maxTags = 10_000
