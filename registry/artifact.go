package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/registry/internal/image"
)

// The media types of a plugin, and the annotations that are our own.
const (
	// ConfigType is the media type of a plugin's config.
	ConfigType = image.ConfigType
	// ModuleType is the media type of a plugin's layer.
	ModuleType = image.ModuleType
	// AnnotationABI is the version of the contract that a plugin implements.
	AnnotationABI = "dev.anchor-host.abi"
	// AnnotationOperations are the operations that a plugin has, joined by commas, in the order
	// of abi.Operations.
	AnnotationOperations = "dev.anchor-host.operations"
	// AnnotationDeprecated says why nobody should use a plugin any more, and what to use instead.
	AnnotationDeprecated = "dev.anchor-host.deprecated"
)

// Artifact is a plugin in the form in which registries keep it.
type Artifact struct {
	// Name and Version are those of the manifest in the module.
	Name, Version string
	// Module, Config and Manifest are the bytes of the three parts.
	Module, Config, Manifest []byte
	// Digest names Manifest, and with it the whole artifact.
	Digest string
	// ModuleDigest names Module.
	ModuleDigest string
}

// PackOptions are what an artifact says beyond the manifest in its module.
type PackOptions struct {
	// Created is when the plugin was made. The zero value takes the seconds since 1970 from the
	// environment variable SOURCE_DATE_EPOCH, and the beginning of 1970 if it is not set.
	Created time.Time
	// Source is the address of the source code, Revision the commit. Both may be empty.
	Source, Revision string
}

// wasmConfig is the config of a WebAssembly artifact.
type wasmConfig struct {
	Created      string   `json:"created"`
	Architecture string   `json:"architecture"`
	OS           string   `json:"os"`
	LayerDigests []string `json:"layerDigests"`
}

// Pack makes the artifact of a module that holds its manifest. The result depends on nothing but
// the arguments and SOURCE_DATE_EPOCH: the same module gives the same digest on each machine.
// Errors wrap those of spec.Read, or ErrNotPlugin for a module without a manifest.
func Pack(module []byte, o PackOptions) (*Artifact, error) {
	s, err := spec.Read("", module, nil)
	if err != nil {
		return nil, fmt.Errorf("pack: read the module: %w", err)
	}
	if s.Manifest == nil {
		return nil, errkind.As(ErrNotPlugin, errors.New(`pack: the module holds no manifest, run "anchor-host plugin build" first`))
	}
	created, err := createdAt(o.Created)
	if err != nil {
		return nil, err
	}
	layer := image.Describe(ModuleType, module)
	layer.Annotations = map[string]string{ocispec.AnnotationTitle: s.Manifest.Name + ".wasm"}
	config, err := json.Marshal(wasmConfig{Created: created, Architecture: "wasm", OS: "wasip1", LayerDigests: []string{string(layer.Digest)}})
	if err != nil {
		return nil, fmt.Errorf("pack: write the config: %w", err)
	}
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: image.Describe(ConfigType, config), Layers: []ocispec.Descriptor{layer}, Annotations: annotations(s, o, created),
	})
	if err != nil {
		return nil, fmt.Errorf("pack: write the manifest: %w", err)
	}
	return &Artifact{Name: s.Manifest.Name, Version: s.Manifest.Version, Module: module, Config: config, Manifest: manifest,
		Digest: image.DigestOf(manifest), ModuleDigest: string(layer.Digest)}, nil
}

// annotations are what tools and indexes show without fetching the module.
func annotations(s *spec.Spec, o PackOptions, created string) map[string]string {
	m := s.Manifest
	operations := make([]string, len(s.Operations))
	for i, op := range s.Operations {
		operations[i] = string(op.Operation)
	}
	all := map[string]string{
		ocispec.AnnotationTitle: m.Name, ocispec.AnnotationVersion: m.Version, ocispec.AnnotationCreated: created,
		ocispec.AnnotationDescription: m.Description, ocispec.AnnotationLicenses: m.License, ocispec.AnnotationURL: m.Homepage,
		ocispec.AnnotationSource: o.Source, ocispec.AnnotationRevision: o.Revision,
		AnnotationABI: strconv.Itoa(m.ABI), AnnotationOperations: strings.Join(operations, ","),
		AnnotationDeprecated: m.Deprecated,
	}
	for name, value := range all {
		if value == "" {
			delete(all, name)
		}
	}
	return all
}

// createdAt writes a time as annotations state it.
func createdAt(t time.Time) (string, error) {
	if t.IsZero() {
		t = time.Unix(0, 0)
		if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 || n > 253402300799 {
				return "", fmt.Errorf("SOURCE_DATE_EPOCH: want whole seconds since 1970, such as 1767225600, got %q", text)
			}
			t = time.Unix(n, 0)
		}
	}
	return t.UTC().Truncate(time.Second).Format(time.RFC3339), nil
}
