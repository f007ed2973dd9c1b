package authoring

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/text"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/abi/schemas"
	"github.com/anchor-host/anchor-host/internal/strict"
)

//go:embed all:templates
var templates embed.FS

const (
	// commonDir holds the files of every project.
	commonDir = "common"
	// kindsDir holds what the projects of a kind have in all languages: plugin.yaml and cases.
	kindsDir = "kinds"
	// templateSuffix marks the files that are templates.
	templateSuffix = ".tmpl"
)

// Errors of New that callers can test for with errors.Is.
var (
	// ErrName means that the name is not valid for a plugin.
	ErrName = errors.New("not a plugin name")
	// ErrKind means that there is no template for an operation.
	ErrKind = errors.New("no such kind")
)

// Project describes a project for New. Templates are executed with it.
type Project struct {
	// Name is the name of the plugin: lower-case letters, digits and hyphens.
	Name string
	// Language is the name of a [Toolchain], and Kind the operation of the plugin.
	Language, Kind string
	// Dir is the folder to create. Empty means a folder with the plugin's name.
	Dir string
	// Version is the version of anchor-host, for the README.
	Version string
}

// Ident returns the name with underscores instead of hyphens, for use in source code.
func (p Project) Ident() string { return strings.ReplaceAll(p.Name, "-", "_") }

// Extension returns the ending of the source's file name, for languages that share templates.
func (p Project) Extension() string {
	if p.Language == cppToolchain.Language {
		return "cpp"
	}
	return "c"
}

// Title returns the name of the language as people write it.
func (p Project) Title() string {
	t, err := Lookup(p.Language)
	if err != nil {
		return p.Language
	}
	return t.Title
}

// Helper reports whether the project has a helper library in its folder anchor.
func (p Project) Helper() bool {
	t, err := Lookup(p.Language)
	return err == nil && t.helper != ""
}

// Install returns the version of anchor-host that a workflow installs: the own one if it is a release.
func (p Project) Install() string {
	if released.MatchString(p.Version) {
		return p.Version
	}
	return "latest"
}

// released matches the versions that can be installed by their name.
var released = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// Operation returns the operation of the plugin. It is Kind, except for "init", which is an
// example of a filter with an init function.
func (p Project) Operation() string {
	if p.Kind == string(abi.OpInit) {
		return string(abi.OpFilter)
	}
	return p.Kind
}

func (t *Toolchain) kinds() ([]string, error) {
	entries, err := templates.ReadDir(path.Join("templates", t.templateDir()))
	if err != nil {
		return nil, fmt.Errorf("language %s: %w: there are no templates", t.Language, ErrKind)
	}
	var kinds []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != commonDir {
			kinds = append(kinds, e.Name())
		}
	}
	if slices.Contains(kinds, string(abi.OpProvide)) {
		kinds = append(kinds, string(abi.OpEstimateTokens))
		slices.Sort(kinds)
	}
	return kinds, nil
}

// templateKind is the folder of templates of a kind. A provider has both operations, because
// estimate_tokens is of use only beside provide.
func (p Project) templateKind() string {
	if p.Kind == string(abi.OpEstimateTokens) {
		return string(abi.OpProvide)
	}
	return p.Kind
}

// templateDir is the folder of templates.
func (t *Toolchain) templateDir() string {
	if t.templates != "" {
		return t.templates
	}
	return t.Language
}

// New writes a project that builds without changes: source, plugin.yaml, README and a copy
// of the helper library. If p is invalid, or the folder exists and is not empty
// (fs.ErrExist), it writes nothing. It returns the folder.
func New(p Project) (dir string, err error) {
	p.Kind = strings.ReplaceAll(p.Kind, "-", "_")
	t, err := p.check()
	if err != nil {
		return "", err
	}
	files, err := p.files(t)
	if err != nil {
		return "", err
	}
	p.Dir = cmp.Or(p.Dir, p.Name)
	if err := vacant(p.Dir); err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeNew(filepath.Join(p.Dir, filepath.FromSlash(name)), files[name]); err != nil {
			return "", err
		}
	}
	helper := filepath.Join(p.Dir, helperDir)
	if err := writeHelper(t, helper); err != nil || t.helper == "" {
		return p.Dir, err
	}
	sums, err := helperSums(t, p.Version)
	if err != nil {
		return p.Dir, err
	}
	return p.Dir, writeNew(filepath.Join(helper, sumsFile), sums)
}

func (p Project) check() (*Toolchain, error) {
	if !manifest.ValidName(p.Name) {
		return nil, fmt.Errorf("%q: %w (want lower-case letters, digits and single hyphens, a letter first, at most 64)", p.Name, ErrName)
	}
	t, err := Lookup(p.Language)
	if err != nil {
		return nil, err
	}
	kinds, err := t.kinds()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(kinds, p.Kind) {
		return nil, fmt.Errorf("kind %q: %w in %s%s", p.Kind, ErrKind, t.Title, strict.Hint(p.Kind, kinds))
	}
	return t, nil
}

// vacant checks that a folder does not exist or is empty.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s: %w and is not empty (choose another name, or a folder with --dir)", dir, fs.ErrExist)
	}
	return nil
}

// files returns the files of a project by their paths in it. A file for the kind replaces a
// common file of the same path.
func (p Project) files(t *Toolchain) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, layer := range []string{
		commonDir, path.Join(kindsDir, p.templateKind()),
		path.Join(t.templateDir(), commonDir), path.Join(t.Language, commonDir), path.Join(t.templateDir(), p.templateKind()),
	} {
		if err := p.layer(path.Join("templates", layer), files); err != nil {
			return nil, err
		}
	}
	schema, err := schemas.Of("Manifest")
	if err != nil {
		return nil, err
	}
	files[schemaFile] = schema
	head := "# yaml-language-server: $schema=" + schemaFile + "\n"
	if t.Language == typescriptToolchain.Language {
		files["plugin.ts"] = files["plugin.js"]
		delete(files, "plugin.js")
	}
	if len(t.Marks) == 0 { // the files do not show the language
		head += languageComment + " " + t.Language + "\n"
	}
	files[ManifestFile] = append([]byte(head), files[ManifestFile]...)
	return files, nil
}

// schemaFile is the schema of plugin.yaml in a project. Editors complete and check the manifest
// with it.
const schemaFile = "plugin.schema.json"

// layer adds the files of one folder of templates, if the folder exists.
func (p Project) layer(root string, files map[string][]byte) error {
	return fs.WalkDir(templates, root, func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == root {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		data, err := templates.ReadFile(name)
		if err != nil {
			return err
		}
		below := strings.TrimPrefix(name, root+"/")
		if plain, ok := strings.CutSuffix(below, templateSuffix); ok {
			below = plain
			if data, err = p.render(name, data); err != nil {
				return err
			}
		}
		if stem, ok := strings.CutSuffix(below, ".c"); ok {
			below = stem + "." + p.Extension()
		}
		files[below] = data
		return nil
	})
}

func (p Project) render(name string, text []byte) ([]byte, error) {
	t, err := template.New(name).Funcs(template.FuncMap{"typed": p.Typed, "types": p.Types}).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	var b bytes.Buffer
	// Templates call no methods, so that the linker can drop those that nothing calls.
	data := map[string]any{
		"Name": p.Name, "Language": p.Language, "Kind": p.Kind, "Version": p.Version, "Ident": p.Ident(), "Extension": p.Extension(), "Title": p.Title(),
		"Helper": p.Helper(), "Install": p.Install(), "Operation": p.Operation(), "Script": p.Script(),
	}
	if err := t.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	return b.Bytes(), nil
}
