package spec

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// The places of a manifest.
const (
	fromModule = "module"
	fromSide   = "plugin.yaml"
)

// manifest reads the manifest of the module, or that in side, the plugin.yaml beside it. If
// both are there, side may only narrow the module's.
func (r *reader) manifest(side []byte) error {
	own, embedded, err := r.ownManifest()
	if err != nil {
		return err
	}
	if r.spec.Foreign {
		if embedded || side != nil {
			return errkind.As(ErrABIVersion, fmt.Errorf("there is a manifest, but the module does not export %q (no operation is exported by the helper library; a guest without one exports it as an empty function)", abi.Marker))
		}
		return nil
	}
	m, from := own, fromModule
	r.authored = own
	if side != nil {
		if m, err = parseSide(side); err != nil {
			return err
		}
		from = fromSide
		if !embedded {
			r.authored = m
		}
		if embedded {
			if err := narrow(own, m); err != nil {
				return errkind.As(ErrManifest, fmt.Errorf("plugin.yaml: %w (it may only narrow the manifest in the module)", err))
			}
		}
	}
	if m == nil {
		return errkind.As(ErrManifest, fmt.Errorf("the module speaks ABI %d and has no manifest (put the custom section %q into it with \"anchor-host plugin build\", or plugin.yaml beside it in a folder where it is called plugin.wasm)", abi.Version, abi.ManifestSection))
	}
	return r.accept(m, from)
}

func (r *reader) ownManifest() (*manifest.Manifest, bool, error) {
	section, ok := r.info.Custom(abi.ManifestSection)
	if !ok {
		return nil, false, nil
	}
	if n := r.info.CountCustom(abi.ManifestSection); n > 1 {
		return nil, true, errkind.As(ErrManifest, fmt.Errorf("the module has %d custom sections %q (build it with one)", n, abi.ManifestSection))
	}
	m, err := manifest.Parse(section)
	if err != nil {
		return nil, true, errkind.As(ErrManifest, fmt.Errorf("custom section %q: %w", abi.ManifestSection, err))
	}
	return m, true, nil
}

// accept takes m as the manifest of the spec.
func (r *reader) accept(m *manifest.Manifest, from string) error {
	if m.ABI != abi.Version {
		return errkind.As(ErrABIVersion, fmt.Errorf("the manifest states ABI %d, the module and this host speak ABI %d", m.ABI, abi.Version))
	}
	versioned := m.Name + "@" + m.Version // several versions of one plugin are in one folder
	if r.spec.Name != "" && r.spec.Name != m.Name && r.spec.Name != versioned {
		remedy := "give both one name"
		if strings.Contains(r.spec.Name, "@") {
			remedy = fmt.Sprintf("the file or folder of this version is %q", versioned)
		}
		return errkind.As(ErrManifest, fmt.Errorf("the manifest names it %q, its file or folder %q (%s)", m.Name, r.spec.Name, remedy))
	}
	if err := checkSchemas(m); err != nil {
		return errkind.As(ErrManifest, fmt.Errorf("manifest: %w", err))
	}
	if err := checkLimits(m.Limits); err != nil {
		return errkind.As(ErrManifest, fmt.Errorf("manifest: %w", err))
	}
	r.spec.Name, r.spec.Manifest, r.spec.ManifestFrom = cmp.Or(r.spec.Name, m.Name), m, from
	if m.Deprecated != "" {
		r.warn("is deprecated: %s", guesttext.Line(m.Deprecated))
	}
	return nil
}

// parseSide reads plugin.yaml as strictly as a manifest in JSON.
func parseSide(side []byte) (*manifest.Manifest, error) {
	doc, err := yamlToJSON(side)
	if err != nil {
		return nil, errkind.As(ErrManifest, fmt.Errorf("plugin.yaml: %w", err))
	}
	m, err := manifest.Parse(doc)
	if err != nil {
		return nil, errkind.As(ErrManifest, fmt.Errorf("plugin.yaml: %w", err))
	}
	return m, nil
}

// maxYAML bounds what is read as YAML, in bytes. Reading a byte takes about a microsecond.
const maxYAML = 128 << 10

// yamlToJSON turns one YAML document into JSON. A longer document than maxYAML must be JSON,
// and is returned as it is.
func yamlToJSON(doc []byte) ([]byte, error) {
	if len(doc) > maxYAML {
		if !json.Valid(doc) {
			return nil, fmt.Errorf("has %d bytes of YAML (want at most %d; write it as JSON)", len(doc), maxYAML)
		}
		return doc, nil
	}
	n, err := strict.ParseYAML("", doc)
	var each strict.Problems // lists every mistake; one is enough
	switch {
	case errors.As(err, &each):
		return nil, fmt.Errorf("line %d: %s", each[0].Pos.Line, each[0].Message)
	case err != nil:
		return nil, err
	case n.Kind == strict.Map && len(n.Entries()) == 0:
		return nil, errors.New("the file is empty")
	}
	return n.JSON()
}
