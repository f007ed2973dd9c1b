package index

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/internal/image"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/registry/trust"
)

const (
	// Version is the form of the file that this package reads and writes.
	Version = 1
	// MaxSize is the largest file, in bytes.
	MaxSize = 8 << 20
	// MaxPlugins is the largest number of plugins of a file.
	MaxPlugins = 10_000

	// maxVersions and maxText bound what one plugin says: a count and bytes.
	maxVersions = 1000
	maxText     = 1000
)

// The errors of Read and Index.Check.
var (
	// ErrInvalid says that a file is not a valid index.
	ErrInvalid = errors.New("not a valid index of plugins")
	// ErrAlike says that two plugins have names that readers take for one another. It comes with
	// ErrInvalid.
	ErrAlike = errors.New("names alike")
)

// Index is the content of a file.
type Index struct {
	// Version is the form of the file: 1.
	Version int `json:"version"`
	// Plugins are sorted by name. No two names are alike (see Fold).
	Plugins []Plugin `json:"plugins"`
}

// Plugin is what an index says of one plugin.
type Plugin struct {
	// Name is that of its manifest.
	Name string `json:"name"`
	// Reference names its highest version, such as oci://ghcr.io/acme/bm25:1.2.0.
	Reference string `json:"reference"`
	// Version is that version, in the form of Semantic Versioning.
	Version string `json:"version"`
	// Digest is that of the artifact when the index was made, "" if the index does not say it.
	Digest string `json:"digest,omitempty"`
	// ABI is the version of the contract that it implements, 0 if the index does not say it.
	ABI int `json:"abi,omitempty"`
	// Operations are the names of its operations.
	Operations []string `json:"operations,omitempty"`
	// Description says in a line what it does, License and Source are as in its manifest.
	Description string `json:"description,omitempty"`
	License     string `json:"license,omitempty"`
	Source      string `json:"source,omitempty"`
	// Deprecated says why nobody should use it any more, "" for all other plugins.
	Deprecated string `json:"deprecated,omitempty"`
	// Versions are all versions that the repository has, the highest first.
	Versions []string `json:"versions,omitempty"`
}

// Read reads an index. Members that it does not know are ignored. Errors wrap ErrInvalid, and also
// ErrAlike where names are.
func Read(text []byte) (*Index, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("%w: has more than %d bytes (split it)", ErrInvalid, MaxSize)
	}
	if err := image.Weigh(text); err != nil {
		return nil, fmt.Errorf("%w: %w (split it)", ErrInvalid, err)
	}
	x := &Index{}
	if err := x.decode(jsontext.NewDecoder(bytes.NewBuffer(text))); err != nil {
		if errors.Is(err, ErrInvalid) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s", ErrInvalid, plain.Line(err.Error()))
	}
	if err := x.checkVersion(); err != nil {
		return nil, err
	}
	if x.Plugins == nil {
		return nil, fmt.Errorf("%w: has no plugins, want a list, such as [] (build it with: anchor-host plugin index)", ErrInvalid)
	}
	return x, x.Check()
}

func (x *Index) checkVersion() error {
	if x.Version == Version {
		return nil
	}
	remedy := "build it with: anchor-host plugin index"
	if x.Version > Version {
		remedy = "use a newer anchor-host"
	}
	return fmt.Errorf("%w: version is %d, want %d (%s)", ErrInvalid, x.Version, Version, remedy)
}

// decode reads the members one by one, so that a plugin too many is refused before it takes
// memory.
func (x *Index) decode(d *jsontext.Decoder) error {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return wanted("a JSON object", err)
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		switch name.String() {
		case "version":
			err = json.UnmarshalDecode(d, &x.Version)
			if err == nil && x.Version > Version {
				return x.checkVersion() // what follows may have another form
			}
		case "plugins":
			err = x.decodePlugins(d)
		default:
			err = d.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if d.PeekKind() != 0 {
		return errors.New("something follows the object")
	}
	return nil
}

// wanted is the error of a place that has something else, or no JSON at all: then err says why.
func wanted(what string, err error) error {
	if err == nil {
		return fmt.Errorf("want %s", what)
	}
	return fmt.Errorf("want %s: %w", what, err)
}

func (x *Index) decodePlugins(d *jsontext.Decoder) error {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return fmt.Errorf("plugins: %w", wanted("a list", err))
	}
	x.Plugins = []Plugin{}
	for d.PeekKind() != ']' {
		if len(x.Plugins) == MaxPlugins {
			return fmt.Errorf("%w: has more than %d plugins (split it)", ErrInvalid, MaxPlugins)
		}
		var p Plugin
		if err := json.UnmarshalDecode(d, &p); err != nil {
			return err
		}
		x.Plugins = append(x.Plugins, p)
	}
	_, err := d.ReadToken()
	return err
}

// Check says what is wrong with an index. Errors are those of Read.
func (x *Index) Check() error {
	seen := map[string]*Plugin{}
	for i := range x.Plugins {
		p := &x.Plugins[i]
		if err := p.check(); err != nil {
			return fmt.Errorf("%w: plugins[%d]: %w", ErrInvalid, i, err)
		}
		if other := seen[Fold(p.Name)]; other != nil {
			return fmt.Errorf("%w: plugins[%d]: %w: %q (%s) and %q (%s) (its owner must remove one of them)",
				ErrInvalid, i, ErrAlike, p.Name, p.Reference, other.Name, other.Reference)
		}
		seen[Fold(p.Name)] = p
	}
	return nil
}

// check says what is wrong with one plugin.
func (p *Plugin) check() error {
	if !manifest.ValidName(p.Name) {
		return fmt.Errorf("name %s: want lower-case letters, digits and single hyphens", plain.Name(p.Name))
	}
	ref, err := registry.ParseReference(p.Reference)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", p.Name, err)
	case !strings.HasPrefix(p.Reference, registry.Scheme) || ref.Tag == "":
		return fmt.Errorf("%s: reference %s: want %s and a tag", p.Name, plain.Path(p.Reference), registry.Scheme)
	case len(p.Versions) > maxVersions:
		return fmt.Errorf("%s: has more than %d versions", p.Name, maxVersions)
	case p.Digest != "" && trust.CheckDigest(p.Digest) != nil:
		return fmt.Errorf("%s: digest: %w", p.Name, trust.CheckDigest(p.Digest))
	}
	seen := map[string]bool{}
	for _, v := range append([]string{p.Version}, p.Versions...) {
		if _, err := lock.CompareVersions(v, v); err != nil {
			return fmt.Errorf("%s: version %s: %w", p.Name, plain.Name(v), err)
		}
	}
	for _, v := range p.Versions {
		if seen[v] {
			return fmt.Errorf("%s: version %s is there twice", p.Name, plain.Name(v))
		}
		seen[v] = true
	}
	for _, op := range p.Operations {
		// A later ABI may have operations that this program does not know.
		if op == "" || len(op) > 64 || strings.Trim(op, "abcdefghijklmnopqrstuvwxyz_") != "" {
			return fmt.Errorf("%s: operation %s is not valid", p.Name, plain.Name(op))
		}
	}
	return p.checkTexts()
}

// checkTexts refuses what would act on a terminal.
func (p *Plugin) checkTexts() error {
	for _, each := range [][2]string{{"description", p.Description}, {"license", p.License}, {"source", p.Source}, {"deprecated", p.Deprecated}} {
		switch {
		case len(each[1]) > maxText:
			return fmt.Errorf("%s: %s is longer than %d bytes", p.Name, each[0], maxText)
		case plain.Has(each[1]) || strings.ContainsAny(each[1], "\n\t"):
			return fmt.Errorf("%s: %s has control characters", p.Name, each[0])
		}
	}
	return nil
}

// Fold returns what readers see in a name at a glance: without hyphens, and with one sign for l
// and 1, and for o and 0. Two names are alike if this is equal.
func Fold(name string) string {
	return strings.NewReplacer("-", "", "1", "l", "0", "o").Replace(name)
}
