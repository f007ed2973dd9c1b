package spec

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// ParseManifest reads a manifest from YAML or JSON. It is as strict as loading: it also
// checks for unknown keys, and checks schemas and limits. Errors wrap ErrManifest. If one
// key is at fault, they also wrap a *manifest.Error that names it.
func ParseManifest(text []byte) (*manifest.Manifest, error) {
	m, _, err := parseManifest(text)
	return m, err
}

func parseManifest(text []byte) (m *manifest.Manifest, doc []byte, err error) {
	if doc, err = yamlToJSON(text); err != nil {
		return nil, nil, errkind.As(ErrManifest, err)
	}
	if m, err = manifest.Parse(doc); err != nil {
		return nil, nil, errkind.As(ErrManifest, err)
	}
	if err := checkSchemas(m); err != nil {
		return nil, nil, errkind.As(ErrManifest, err)
	}
	if err := checkLimits(m.Limits); err != nil {
		return nil, nil, errkind.As(ErrManifest, err)
	}
	return m, doc, nil
}

// Embed returns a copy of a module with the manifest in the custom section
// anchor.manifest, so that the plugin is one file. The manifest is YAML or JSON and is
// checked first. A module that already holds the same manifest is returned unchanged.
// Errors wrap ErrManifest, also for a module that holds another manifest, or ErrNotWasm.
func Embed(wasm, manifest []byte) ([]byte, error) {
	_, doc, err := parseManifest(manifest)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := json.Compact(&text, doc); err != nil {
		return nil, errkind.As(ErrManifest, err)
	}
	own, ok, err := wasmbin.Custom(wasm, abi.ManifestSection)
	switch {
	case err != nil:
		return nil, errkind.As(ErrNotWasm, err)
	case ok && bytes.Equal(own, text.Bytes()):
		return bytes.Clone(wasm), nil
	case ok:
		return nil, errkind.As(ErrManifest, fmt.Errorf("the module has another manifest in its custom section %q (build it without one, or embed the same)", abi.ManifestSection))
	}
	out, err := wasmbin.AppendCustom(wasm, abi.ManifestSection, text.Bytes())
	if err != nil {
		return nil, errkind.As(ErrNotWasm, err)
	}
	return out, nil
}
