package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// PluginScheme begins a plugin that is named by its place in a registry, such as
// oci://ghcr.io/acme/bm25:1.2.
const PluginScheme = "oci://"

// References returns the plugins that the file names by their place in a registry, each once, in
// the order and in the words of the file.
func (l *Loaded) References() []string { return slices.Clone(l.references) }

// lockedNames replaces each place in a registry by the name that anchor.lock gives to it, and
// returns all of them. What the lock does not list stays as it is.
func lockedNames(path string, n *strict.Node) (references []string, err error) {
	var places []*strict.Node
	findReferences(n, false, &places)
	if len(places) == 0 {
		return nil, nil
	}
	f, err := lock.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = &lock.File{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", lock.Name, err)
	}
	names := map[string]string{} // by reference
	for i := range slices.Backward(f.Plugins) {
		names[f.Plugins[i].Reference] = f.Plugins[i].Name // the first of several counts
	}
	seen := map[string]bool{}
	for _, place := range places {
		text := place.Text
		if !seen[text] {
			seen[text] = true
			references = append(references, text)
		}
		if name, ok := names[text]; ok {
			place.Text = name
		}
	}
	return references, nil
}

// named are the keys below which the keys are names that the operator chose.
var named = []string{"instances", "pipelines", "retrievers", "routes", "collections", "models", "embedders"}

// naming are the keys whose value, if it is a text, names a plugin.
var naming = []string{"plugin", "use", "tokenizer", "format", "memory", "enricher", "compact", "context", "extract", "make", "reflect"}

// findReferences lists the values of a document that name a plugin by its place. What belongs to a
// plugin alone, such as its settings, is not looked at. own says that the keys of n are names that
// the operator chose.
func findReferences(n *strict.Node, own bool, places *[]*strict.Node) {
	for i := range n.Items() {
		findReferences(&n.Items()[i], false, places)
	}
	for i := range n.Entries() {
		e := &n.Entries()[i]
		switch {
		case own:
			findReferences(&e.Value, false, places)
		case e.Key == "settings" || e.Key == "config" || e.Key == "grants":
		case slices.Contains(naming, e.Key) && e.Value.Kind == strict.String:
			addReference(&e.Value, places)
		case e.Key == "retrievers" && e.Value.Kind == strict.List, e.Key == "callbacks", e.Key == "routes":
			for j := range e.Value.Items() {
				addReference(&e.Value.Items()[j], places)
			}
			for j := range e.Value.Entries() {
				addReference(&e.Value.Entries()[j].Value, places)
			}
			findReferences(&e.Value, slices.Contains(named, e.Key), places)
		case e.Key == "links":
			for j := range e.Value.Entries() {
				addReference(&e.Value.Entries()[j].Value, places)
			}
		default:
			findReferences(&e.Value, slices.Contains(named, e.Key), places)
		}
	}
}

func addReference(n *strict.Node, places *[]*strict.Node) {
	if n.Kind == strict.String && strings.HasPrefix(n.Text, PluginScheme) {
		*places = append(*places, n)
	}
}
