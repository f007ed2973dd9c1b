package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/registry/internal/image"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

// Plugin is a plugin that was pulled. All of it is verified.
type Plugin struct {
	// Reference is what was asked for, with the digest that was found.
	Reference Reference
	// ModuleDigest names Module. It differs from the layer's digest where the module was in an
	// image.
	ModuleDigest string
	// Module is the WebAssembly module. Its manifest is not checked: package spec does that.
	Module []byte
	// Manifest is the artifact's manifest.
	Manifest []byte
	// Annotations are those of the manifest. Whoever pushed it wrote them: treat them as hostile.
	Annotations map[string]string
	// Cached says that no request was sent.
	Cached bool
}

// acceptManifests are the types that are asked for. Indexes are among them, as a registry says
// "not found" otherwise.
var acceptManifests = strings.Join([]string{ocispec.MediaTypeImageManifest, image.DockerManifest, ocispec.MediaTypeImageIndex, image.DockerIndex}, ", ")

// Resolve asks a registry which artifact a reference names now, and returns the reference with
// its digest. An offline client answers as the registry did last. The artifact's manifest is in
// the cache afterwards. Errors are those of Pull.
func (c *Client) Resolve(ctx context.Context, ref Reference) (Reference, error) {
	if err := ref.versioned(); err != nil {
		return Reference{}, err
	}
	if ref.Digest != "" {
		return ref, nil
	}
	if c.options.Offline {
		digest, err := c.cache.tagged(ref)
		if errors.Is(err, ErrNotFound) {
			err = c.online(ref)
			if _, damaged := c.cache.index(); damaged != nil {
				err = damaged // it may have known the tag
			}
		}
		return ref.At(digest), err
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	unlock, err := c.cache.use(ctx)
	if err != nil {
		return Reference{}, err
	}
	defer unlock()
	text, _, err := c.fetchManifest(ctx, ref)
	if err != nil {
		return Reference{}, err
	}
	if err := c.cache.put(text); err != nil {
		return Reference{}, err
	}
	return ref.At(image.DigestOf(text)), nil
}

// Pull fetches a plugin. With a digest, what the cache has is not asked for; with a tag alone,
// the registry says what the tag names now, and an offline client takes what it named last.
//
// Errors wrap ErrReference, ErrNotFound, ErrDenied, ErrBusy, ErrUnreachable, ErrRedirect,
// ErrOffline, ErrDigest, ErrTooLarge or ErrNotPlugin. After an error the cache has no more of
// the plugin than parts that are verified, and half downloads that the next Pull resumes.
func (c *Client) Pull(ctx context.Context, ref Reference) (*Plugin, error) {
	if err := ref.versioned(); err != nil {
		return nil, err
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	p, err := c.pull(ctx, ref)
	if err != nil && !strings.HasPrefix(err.Error(), ref.String()) {
		err = fmt.Errorf("%s: %w", ref, err)
	}
	return p, err
}

func (c *Client) pull(ctx context.Context, ref Reference) (*Plugin, error) {
	pinned := ref
	if c.options.Offline {
		var err error
		if pinned, err = c.Resolve(ctx, ref); err != nil {
			return nil, err
		}
	}
	if pinned.Digest != "" {
		p, err := c.cached(ctx, pinned)
		if err == nil || c.options.Offline && !errors.Is(err, ErrNotFound) {
			return p, err
		}
		if err := c.online(ref); err != nil {
			return nil, err
		}
	}
	unlock, err := c.cache.use(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	p, err := c.download(ctx, pinned)
	if pinned.Digest != "" && errors.Is(err, ErrNotFound) {
		err = c.gone(ctx, pinned, err)
	}
	return p, err
}

// gone adds to the error about a digest that was not found what to do. Whether it was there once
// is not known: a digest with a typo looks the same.
func (c *Client) gone(ctx context.Context, ref Reference, err error) error {
	const archive = "load it from an archive with: anchor-host plugin install --from FILE, or install another version)"
	if !errors.Is(err, errNowhere) {
		return fmt.Errorf("%w (try again later, %s", err, archive) // a server that failed may have it
	}
	if ref.Tag != "" {
		if now, again := c.Resolve(ctx, ref.At("")); again == nil && now.Digest != ref.Digest {
			return fmt.Errorf("has no artifact with this digest: %w, the tag %s names %s now (check the digest; if it was right, update after a look, or restore the old one)", err, ref.Tag, now.Digest)
		}
	}
	return fmt.Errorf("has no artifact with this digest, or not all of it: %w (check the digest; if it was right, %s", err, archive)
}

// cached reads a plugin from the cache.
func (c *Client) cached(ctx context.Context, ref Reference) (*Plugin, error) {
	text, err := c.cache.read(ref.Digest, image.MaxManifest)
	if err != nil {
		return nil, err
	}
	img, err := image.Read("", text, c.options.MaxModule)
	if err != nil {
		return nil, err
	}
	layer, err := c.cache.read(string(img.Layer.Digest), img.Layer.Size)
	if err != nil {
		return nil, err
	}
	p, err := c.plugin(ref, text, img, layer)
	if err != nil {
		return nil, err
	}
	p.Cached = true
	if !c.options.Offline {
		c.cache.relist(ctx, entry(ref, img.Manifest))
	}
	return p, nil
}

// download fetches manifest, config and module, checks each before it asks for the next, and
// lists the plugin in the cache at the end.
func (c *Client) download(ctx context.Context, ref Reference) (*Plugin, error) {
	text, mediaType, err := c.fetchManifest(ctx, ref)
	if err != nil {
		return nil, err
	}
	img, err := image.Read(mediaType, text, c.options.MaxModule)
	if err != nil {
		return nil, err
	}
	pinned, sites := ref.At(image.DigestOf(text)), c.sites(ref)
	if err := c.fetch(ctx, sites, img.Config, nil); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	config, err := c.cache.read(string(img.Config.Digest), img.Config.Size)
	if err != nil {
		return nil, err
	}
	if err := image.CheckConfig(config); err != nil {
		return nil, err
	}
	if err := c.fetch(ctx, sites, img.Layer, c.reporter(pinned, img.Layer.Size, false)); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	layer, err := c.cache.read(string(img.Layer.Digest), img.Layer.Size)
	if err != nil {
		return nil, err
	}
	p, err := c.plugin(pinned, text, img, layer)
	if err != nil {
		return nil, err
	}
	if err := c.cache.put(text); err != nil {
		return nil, err
	}
	return p, c.cache.note(ctx, entry(pinned, img.Manifest))
}

// plugin takes the module out of its layer.
func (c *Client) plugin(ref Reference, manifest []byte, img *image.Image, layer []byte) (*Plugin, error) {
	p := &Plugin{Reference: ref, Module: layer, ModuleDigest: string(img.Layer.Digest), Manifest: manifest, Annotations: img.Annotations}
	if img.Packed {
		module, err := image.Unpack(layer, c.options.MaxModule)
		if err != nil {
			return nil, err
		}
		p.Module, p.ModuleDigest = module, image.DigestOf(module)
	}
	if err := image.CheckModule(p.Module); err != nil {
		return nil, err
	}
	return p, nil
}

// fetchManifest fetches the manifest of a reference, by digest if it has one. It returns the
// type that the server states.
func (c *Client) fetchManifest(ctx context.Context, ref Reference) (text []byte, mediaType string, err error) {
	if ref.Digest != "" {
		if text, err := c.cache.read(ref.Digest, image.MaxManifest); err == nil {
			return text, "", nil
		}
	}
	return c.manifestFromAny(ctx, c.sites(ref), ref)
}

// manifestFromAny asks one site after the other.
func (c *Client) manifestFromAny(ctx context.Context, sites []site, ref Reference) (text []byte, mediaType string, err error) {
	var failed []error
	for _, s := range sites {
		if text, mediaType, err = c.manifestFrom(ctx, s, ref); err == nil || ctx.Err() != nil {
			return text, mediaType, err
		}
		failed = append(failed, err)
	}
	return nil, "", allFailed(failed)
}

func (c *Client) manifestFrom(ctx context.Context, s site, ref Reference) (text []byte, mediaType string, err error) {
	name := ref.Tag
	if ref.Digest != "" {
		name = ref.Digest
	}
	answer, err := c.get(ctx, s, "manifests/"+name, http.Header{"Accept": {acceptManifests}}, http.StatusOK)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	if answer.ContentLength > image.MaxManifest {
		return nil, "", errkind.As(ErrTooLarge, fmt.Errorf("manifest: %s announces %d bytes, the limit is %d", s.host, answer.ContentLength, image.MaxManifest))
	}
	text, err = io.ReadAll(io.LimitReader(answer.Body, image.MaxManifest+1))
	if err != nil {
		return nil, "", brokenOff(fmt.Errorf("manifest: %s breaks off after %d bytes: %w", s.host, len(text), kind.Safe(err)))
	}
	if len(text) > image.MaxManifest {
		return nil, "", errkind.As(ErrTooLarge, fmt.Errorf("manifest: %s sends more than %d bytes", s.host, image.MaxManifest))
	}
	if isWebPage(text) {
		return nil, "", webPage(s.host)
	}
	if stated := answer.Header.Get("Docker-Content-Digest"); strings.HasPrefix(stated, "sha256:") && stated != image.DigestOf(text) {
		return nil, "", errkind.As(ErrDigest, fmt.Errorf("manifest: %s content does not match the digest that it states; nothing was installed. Report it to the registry's operator", s.host))
	}
	if ref.Digest != "" && image.DigestOf(text) != ref.Digest {
		return nil, "", errkind.As(ErrDigest, fmt.Errorf("manifest: %s content does not match its digest; nothing was installed. Report it to the registry's operator", s.host))
	}
	return text, answer.Header.Get("Content-Type"), nil
}

// reporter returns what is told how many bytes of a transfer are done.
func (c *Client) reporter(ref Reference, total int64, upload bool) func(int64) {
	if c.options.Progress == nil {
		return nil
	}
	return func(done int64) {
		c.options.Progress(Progress{Reference: ref, Upload: upload, Done: done, Total: total})
	}
}
