package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
)

//go:embed templates assets
var files embed.FS

// pages are the templates by name, and the assets.
type pages struct {
	byName map[string]*template.Template
	// assets are files by a name with their digest, and names are those names by the plain ones.
	assets map[string][]byte
	names  map[string]string
}

func newPages() (*pages, error) {
	p := &pages{byName: map[string]*template.Template{}, assets: map[string][]byte{}, names: map[string]string{}}
	if err := p.readAssets(); err != nil {
		return nil, err
	}
	base := template.New("").Funcs(words).Funcs(template.FuncMap{"asset": func(name string) string { return "/console/assets/" + p.names[name] }})
	base, err := base.ParseFS(files, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("console: templates: %w", err)
	}
	names, err := fs.Glob(files, "templates/page-*.html")
	if err != nil {
		return nil, fmt.Errorf("console: templates: %w", err)
	}
	for _, name := range names {
		t, err := template.Must(base.Clone()).ParseFS(files, name)
		if err != nil {
			return nil, fmt.Errorf("console: templates: %w", err)
		}
		p.byName[strings.TrimSuffix(strings.TrimPrefix(path.Base(name), "page-"), ".html")] = t
	}
	return p, nil
}

func (p *pages) readAssets() error {
	list, err := files.ReadDir("assets")
	if err != nil {
		return fmt.Errorf("console: assets: %w", err)
	}
	for _, f := range list {
		data, err := files.ReadFile("assets/" + f.Name())
		if err != nil {
			return fmt.Errorf("console: assets: %w", err)
		}
		sum := sha256.Sum256(data)
		ext := path.Ext(f.Name())
		name := strings.TrimSuffix(f.Name(), ext) + "-" + hex.EncodeToString(sum[:6]) + ext
		p.assets[name], p.names[f.Name()] = data, name
	}
	return nil
}
