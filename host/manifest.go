package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/anchor-host/anchor-host/abi"
)

// Where a manifest was found.
const (
	fromModule = "module"
	fromSide   = "plugin.yaml"
)

// manifest reads the manifest of the module, the plugin.yaml beside it, or
// narrows the first by the second.
func (r *specReader) manifest(side []byte) error {
	own, embedded, err := r.ownManifest()
	if err != nil {
		return err
	}
	if r.spec.Foreign {
		if embedded || side != nil {
			return as(ErrABIVersion, fmt.Errorf("there is a manifest, but the module does not export %q (export it as an empty function, or remove the manifest)", abi.Marker))
		}
		return nil
	}
	m, from := own, fromModule
	if side != nil {
		if m, err = parseSide(side); err != nil {
			return err
		}
		from = fromSide
		if embedded {
			if err := narrows(own, m); err != nil {
				return as(ErrManifest, fmt.Errorf("plugin.yaml: %w (it may only narrow the manifest in the module)", err))
			}
		}
	}
	if m == nil {
		return as(ErrManifest, fmt.Errorf("the module speaks ABI %d and has no manifest (put the custom section %q into it with \"anchor-host plugin build\", or plugin.yaml beside it in a folder where it is called plugin.wasm)", abi.Version, abi.ManifestSection))
	}
	return r.accept(m, from)
}

func (r *specReader) ownManifest() (*abi.Manifest, bool, error) {
	section, ok := r.info.Custom(abi.ManifestSection)
	if !ok {
		return nil, false, nil
	}
	m, err := abi.ParseManifest(section)
	if err != nil {
		return nil, true, as(ErrManifest, fmt.Errorf("custom section %q: %w", abi.ManifestSection, err))
	}
	return m, true, nil
}

// accept takes m as the manifest of the spec.
func (r *specReader) accept(m *abi.Manifest, from string) error {
	if m.ABI != abi.Version {
		return as(ErrABIVersion, fmt.Errorf("the manifest states ABI %d, the module and this host speak ABI %d", m.ABI, abi.Version))
	}
	if r.spec.Name != "" && r.spec.Name != m.Name {
		return as(ErrManifest, fmt.Errorf("the manifest names it %q, its file or folder %q (give both one name)", m.Name, r.spec.Name))
	}
	if err := checkSchemas(m); err != nil {
		return as(ErrManifest, fmt.Errorf("manifest: %w", err))
	}
	if _, err := requestedLimits(m.Limits); err != nil {
		return as(ErrManifest, fmt.Errorf("manifest: %w", err))
	}
	r.spec.Name, r.spec.Manifest, r.spec.ManifestFrom = m.Name, m, from
	return nil
}

// parseSide reads plugin.yaml with the same strictness as the JSON form.
func parseSide(side []byte) (*abi.Manifest, error) {
	doc, err := yamlToJSON(side)
	if err != nil {
		return nil, as(ErrManifest, fmt.Errorf("plugin.yaml: %w", err))
	}
	m, err := abi.ParseManifest(doc)
	if err != nil {
		return nil, as(ErrManifest, fmt.Errorf("plugin.yaml: %w", err))
	}
	return m, nil
}

// yamlToJSON turns one YAML document into JSON.
func yamlToJSON(doc []byte) ([]byte, error) {
	dec := yaml.NewDecoder(strings.NewReader(string(doc)))
	var v any
	if err := dec.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty")
		}
		var each *yaml.TypeError // has a line for each mistake
		if errors.As(err, &each) && len(each.Errors) > 0 {
			return nil, errors.New(each.Errors[0])
		}
		return nil, err
	}
	var more any
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document (want one)")
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("not expressible as JSON: %w (want text keys)", err)
	}
	return out, nil
}

// narrows checks that side promises and asks for no more than own.
func narrows(own, side *abi.Manifest) error {
	if side.Name != own.Name || side.Version != own.Version {
		return fmt.Errorf("is for %s %s, the module is %s %s", side.Name, side.Version, own.Name, own.Version)
	}
	for op := range side.Operations {
		if _, ok := own.Operations[op]; !ok {
			return fmt.Errorf("operation %q is not the module's", op)
		}
		if extra := side.Reads(op) &^ own.Reads(op); extra != 0 {
			return fmt.Errorf("operation %q reads %s, which the module does not ask for", op, extra)
		}
		if extra := side.Writes(op) &^ own.Writes(op); extra != 0 {
			return fmt.Errorf("operation %q writes %s, which the module does not ask for", op, extra)
		}
		if limit := own.Operations[op].MaxPriority; limit > 0 && (side.Operations[op].MaxPriority > limit || side.Operations[op].MaxPriority == 0) {
			return fmt.Errorf("operation %q has max_priority %d, the module %d", op, side.Operations[op].MaxPriority, limit)
		}
	}
	for _, p := range side.Permissions {
		if !slices.ContainsFunc(own.Permissions, func(o abi.Permission) bool { return within(p, o) }) {
			return fmt.Errorf("permission %q is not the module's", p.Kind)
		}
	}
	return nil
}

// within reports whether permission p asks for no more than o.
func within(p, o abi.Permission) bool {
	if p.Kind != o.Kind || p.Guest != o.Guest || p.Service != o.Service {
		return false
	}
	if p.Mode == ModeRW && o.Mode != ModeRW {
		return false
	}
	for _, h := range p.Hosts {
		if !slices.ContainsFunc(o.Hosts, func(pattern string) bool { return h == pattern || hostMatches(pattern, h) }) {
			return false
		}
	}
	for _, m := range p.Methods {
		if len(o.Methods) > 0 && !slices.Contains(o.Methods, m) {
			return false
		}
	}
	return quotaOf(p) <= quotaOf(o)
}

// quotaOf is the number of bytes a kv permission asks for; manifests that do
// not parse are refused before.
func quotaOf(p abi.Permission) int64 {
	if p.Kind != permKV {
		return 0
	}
	if p.Quota == "" {
		return DefaultKVQuota
	}
	n, err := abi.ParseSize(p.Quota)
	if err != nil {
		return 0
	}
	return n
}
