package registry

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry/internal/image"
)

// Description is what the manifest of an artifact says of a plugin. Whoever pushed it wrote it:
// treat it as hostile.
type Description struct {
	// Reference is what was asked for, with the digest that was found.
	Reference Reference
	// Name and Version are those of the plugin's manifest.
	Name, Version string
	// ABI is the version of the contract that it implements.
	ABI int
	// Operations are the names of its operations.
	Operations []string
	// Description says in a line what it does, License and Source are as in its manifest; Source
	// is its home page if it names no source. Each may be "".
	Description, License, Source string
	// Deprecated says why nobody should use it any more, "" for all other plugins.
	Deprecated string
}

// Describe asks a registry what a plugin is, without fetching its module. Errors are those of
// Pull. An artifact of another program, which does not say what the plugin is, is ErrNotPlugin.
func (c *Client) Describe(ctx context.Context, ref Reference) (*Description, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	d, err := c.describe(ctx, ref)
	if err != nil && !strings.HasPrefix(err.Error(), ref.String()) {
		err = fmt.Errorf("%s: %w", ref, err)
	}
	return d, err
}

func (c *Client) describe(ctx context.Context, ref Reference) (*Description, error) {
	pinned, err := c.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	text, _, err := c.fetchManifest(ctx, pinned)
	if err != nil {
		return nil, err
	}
	img, err := image.Read("", text, c.options.MaxModule)
	if err != nil {
		return nil, err
	}
	notes := img.Annotations
	if notes[AnnotationABI] == "" {
		return nil, errkind.As(ErrNotPlugin, fmt.Errorf("its manifest does not say what the plugin is: push it with \"anchor-host plugin publish\""))
	}
	d := &Description{
		Reference: pinned, Name: notes[ocispec.AnnotationTitle], Version: notes[ocispec.AnnotationVersion],
		Description: notes[ocispec.AnnotationDescription], License: notes[ocispec.AnnotationLicenses],
		Source: cmp.Or(notes[ocispec.AnnotationSource], notes[ocispec.AnnotationURL]), Deprecated: notes[AnnotationDeprecated],
	}
	if d.ABI, err = strconv.Atoi(notes[AnnotationABI]); err != nil || d.ABI < 0 {
		return nil, errkind.As(ErrNotPlugin, fmt.Errorf("annotation %s: want a whole number, got %s", AnnotationABI, plain.Name(notes[AnnotationABI])))
	}
	if operations := notes[AnnotationOperations]; operations != "" {
		d.Operations = strings.Split(operations, ",")
	}
	return d, nil
}
