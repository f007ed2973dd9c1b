// Package image reads the manifests, configs and layers in which registries hold plugins. Nothing in
// them is trusted.
package image

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

// The limits of what is read from a registry, in bytes.
const (
	// MaxManifest is what registries accept as a manifest.
	MaxManifest = 4 << 20
	// MaxConfig is far more than the config of a plugin or an image has.
	MaxConfig = 1 << 20
)

// The media types of a plugin.
const (
	ConfigType = "application/vnd.wasm.config.v0+json"
	ModuleType = "application/wasm"
)

// The media types of Docker, and others that are recognised.
const (
	DockerManifest    = "application/vnd.docker.distribution.manifest.v2+json"
	DockerManifestOld = "application/vnd.docker.distribution.manifest.v1"
	DockerIndex       = "application/vnd.docker.distribution.manifest.list.v2+json"
	DockerConfig      = "application/vnd.docker.container.image.v1+json"
	DockerLayer       = "application/vnd.docker.image.rootfs.diff.tar.gzip"
	envoyModule       = "application/vnd.module.wasm.content.layer.v1+wasm"
	OlderModule       = "application/vnd.wasm.content.layer.v1+wasm"
)

// pushAgain is the remedy for artifacts in another form.
const pushAgain = `push the module with "anchor-host plugin publish"`

// Image is what a manifest says of a plugin.
type Image struct {
	// Manifest describes the manifest itself.
	Manifest ocispec.Descriptor
	// Config and Layer are its two parts.
	Config, Layer ocispec.Descriptor
	// Packed says that the module is the file plugin.wasm in a tar layer.
	Packed bool
	// Annotations are those of the manifest.
	Annotations map[string]string
}

// Strict reads JSON that a registry sent: member names must match in case and be unique, and its
// values must not take much more memory than its bytes.
func Strict(text []byte, v any) error {
	if err := Weigh(text); err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// Read checks the manifest of a plugin. mediaType is what the server says it is, "" if
// unknown. maxModule limits the announced size of the module.
func Read(mediaType string, text []byte, maxModule int64) (*Image, error) {
	if len(text) > MaxManifest {
		return nil, errkind.As(kind.ErrTooLarge, fmt.Errorf("manifest: has more than %d bytes", MaxManifest))
	}
	t, err := ManifestType(mediaType, text)
	if err != nil {
		return nil, err
	}
	var m ocispec.Manifest
	if err := Strict(text, &m); err != nil {
		return nil, errkind.As(kind.ErrNotPlugin, fmt.Errorf("manifest: is not valid JSON: %w", Cause(err)))
	}
	if m.SchemaVersion != 2 {
		return nil, errkind.As(kind.ErrNotPlugin, fmt.Errorf("manifest: schemaVersion is %d, want 2", m.SchemaVersion))
	}
	if m.Subject != nil && m.Config.MediaType != ConfigType {
		return nil, errkind.As(kind.ErrNotPlugin, fmt.Errorf("manifest: is an attachment of type %s to %s, pull the plugin itself",
			plain.Name(ArtifactType(&m)), Shown(*m.Subject)))
	}
	img := &Image{Manifest: Describe(t, text), Config: m.Config, Annotations: m.Annotations}
	if err := img.takeConfig(&m); err != nil {
		return nil, err
	}
	if err := img.takeLayer(&m, maxModule); err != nil {
		return nil, err
	}
	return img, nil
}

// ManifestType finds out which kind of document a manifest is, and refuses all but image
// manifests. A document that is both a manifest and an index means different things to
// different readers.
func ManifestType(stated string, text []byte) (string, error) {
	var head struct {
		MediaType string         `json:"mediaType"`
		Manifests jsontext.Value `json:"manifests"`
		Layers    jsontext.Value `json:"layers"`
	}
	if err := Strict(text, &head); err != nil {
		return "", errkind.As(kind.ErrNotPlugin, fmt.Errorf("manifest: is not valid JSON: %w", Cause(err)))
	}
	if stated != "" {
		if t, _, err := mime.ParseMediaType(stated); err == nil {
			stated = t
		}
	}
	switch {
	case head.Manifests != nil && head.Layers != nil:
		return "", errkind.As(kind.ErrNotPlugin, errors.New("manifest: has both layers and manifests, want an image manifest"))
	case head.MediaType == "":
		head.MediaType = stated
	case stated != "" && stated != head.MediaType:
		return "", errkind.As(kind.ErrNotPlugin, fmt.Errorf("manifest: the registry sends it as %s, but it says %s", plain.Name(stated), plain.Name(head.MediaType)))
	}
	switch t := head.MediaType; {
	case t == ocispec.MediaTypeImageIndex || t == DockerIndex || head.Manifests != nil:
		return "", errkind.As(kind.ErrNotPlugin, indexError(text))
	case t == "" && head.Layers != nil:
		return ocispec.MediaTypeImageManifest, nil
	case t == ocispec.MediaTypeImageManifest || t == DockerManifest:
		return t, nil
	case strings.HasPrefix(t, DockerManifestOld):
		return "", errkind.As(kind.ErrNotPlugin, fmt.Errorf("manifest: has the old type %s, %s", plain.Name(t), pushAgain))
	default:
		return "", errkind.As(kind.ErrNotPlugin, fmt.Errorf("manifest: has the type %s, want %s", plain.Name(t), ocispec.MediaTypeImageManifest))
	}
}

// indexError says that a manifest is a list of others, with one of them as the remedy.
func indexError(text []byte) error {
	var index ocispec.Index
	if err := Strict(text, &index); err != nil || len(index.Manifests) == 0 {
		return errors.New("manifest: is an index without manifests, want an image manifest")
	}
	choice := index.Manifests[0]
	for _, m := range index.Manifests {
		if m.Platform != nil && m.Platform.Architecture == "wasm" {
			choice = m
			break
		}
	}
	if !DigestForm.MatchString(string(choice.Digest)) {
		return errors.New("manifest: is an index whose manifests have no valid digests, want an image manifest")
	}
	return fmt.Errorf("manifest: is an index of %d manifests, name one of them by its digest, such as @%s", len(index.Manifests), choice.Digest)
}

// takeConfig checks which kind of artifact the config makes of a manifest.
func (img *Image) takeConfig(m *ocispec.Manifest) error {
	switch t := m.Config.MediaType; t {
	case ConfigType:
	case ocispec.MediaTypeEmptyJSON, "application/vnd.unknown.config.v1+json":
		// Tools that push any file write these; the layer says what it is.
	case ocispec.MediaTypeImageConfig, DockerConfig:
		img.Packed = true
	default:
		return errkind.As(kind.ErrNotPlugin, fmt.Errorf("config: has the type %s, want %s: %s", plain.Name(t), ConfigType, pushAgain))
	}
	return CheckDescriptor("config", m.Config, MaxConfig)
}

// takeLayer checks that the one layer is the module, or a tar that can hold it.
func (img *Image) takeLayer(m *ocispec.Manifest, maxModule int64) error {
	if len(m.Layers) != 1 {
		return errkind.As(kind.ErrNotPlugin, fmt.Errorf("layers: there are %d, want one: the module", len(m.Layers)))
	}
	img.Layer = m.Layers[0]
	t := img.Layer.MediaType
	switch {
	case len(img.Layer.URLs) > 0 || strings.Contains(t, "nondistributable") || strings.Contains(t, ".foreign."):
		return errkind.As(kind.ErrNotPlugin, fmt.Errorf("layer: of type %s is kept outside of the registry, %s", plain.Name(t), pushAgain))
	case t == ModuleType:
		img.Packed = false
	case img.Packed && (t == ocispec.MediaTypeImageLayer || t == ocispec.MediaTypeImageLayerGzip || t == DockerLayer):
	case t == OlderModule || t == envoyModule:
		return errkind.As(kind.ErrNotPlugin, fmt.Errorf("layer: has the older type %s, want %s: %s", t, ModuleType, pushAgain))
	case img.Packed:
		return errkind.As(kind.ErrNotPlugin, fmt.Errorf("layer: has the type %s, want a tar or tar+gzip layer with the file plugin.wasm", plain.Name(t)))
	default:
		return errkind.As(kind.ErrNotPlugin, fmt.Errorf("layer: has the type %s, want %s: %s", plain.Name(t), ModuleType, pushAgain))
	}
	return CheckDescriptor("layer", img.Layer, maxModule)
}

// CheckDescriptor holds what a manifest announces against a limit.
func CheckDescriptor(part string, d ocispec.Descriptor, limit int64) error {
	switch {
	case !DigestForm.MatchString(string(d.Digest)):
		return errkind.As(kind.ErrNotPlugin, fmt.Errorf("%s: its digest %s is not sha256: and 64 hexadecimal digits", part, Shown(d)))
	case d.Size <= 0:
		return errkind.As(kind.ErrNotPlugin, fmt.Errorf("%s: its size is %d bytes, want more than 0", part, d.Size))
	case d.Size > limit:
		return errkind.As(kind.ErrTooLarge, fmt.Errorf("%s: announces %d bytes, the limit is %d", part, d.Size, limit))
	}
	return nil
}

// Shown is the digest of a descriptor as a message shows it.
func Shown(d ocispec.Descriptor) string {
	if DigestForm.MatchString(string(d.Digest)) {
		return string(d.Digest)
	}
	return plain.Name(string(d.Digest))
}

// ArtifactType returns what an attachment is: its artifact type, or else that of its config.
func ArtifactType(m *ocispec.Manifest) string {
	if m.ArtifactType != "" {
		return m.ArtifactType
	}
	return m.Config.MediaType
}

// CheckConfig refuses components by their config, before the module is fetched.
func CheckConfig(text []byte) error {
	var config struct {
		OS        string         `json:"os"`
		Component jsontext.Value `json:"component"`
	}
	if err := Strict(text, &config); err != nil {
		return errkind.As(kind.ErrNotPlugin, fmt.Errorf("config: is not valid JSON: %w", Cause(err)))
	}
	if config.OS == "wasip2" || config.Component != nil && string(config.Component) != "null" {
		return componentError()
	}
	return nil
}

// CheckModule looks at the first bytes: those of a core module, or those of a component. All
// else is checked when the plugin is read.
func CheckModule(module []byte) error {
	switch {
	case bytes.HasPrefix(module, []byte("\x00asm\x01\x00\x00\x00")):
		return nil
	case bytes.HasPrefix(module, []byte("\x00asm")) && len(module) >= 8 && module[6] == 1:
		return componentError()
	}
	return errkind.As(kind.ErrNotPlugin, errors.New("module: is not a WebAssembly module of version 1"))
}

func componentError() error {
	return errkind.As(kind.ErrNotPlugin, errors.New("module: is a WebAssembly component, a core module is needed: build the plugin for wasip1 and push it again"))
}

// Cause is the text of an error about hostile input, safe for one line.
func Cause(err error) error { return errors.New(plain.Line(err.Error())) }
