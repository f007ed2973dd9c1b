package config

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"
)

// ownSections are the sections that a host takes from its own file when it follows a configuration: what
// differs between hosts.
var ownSections = []string{"server", "store"}

// Followed is where the parts of a configuration are that a host follows.
type Followed struct {
	// Name identifies the configuration in errors.
	Name string
	// Data is its text.
	Data []byte
	// Lock is the path of its anchor.lock, and Plugins the folder of its plugins.
	Lock, Plugins string
	// Keys is the path of the file of the keys. Empty: that of the host's own configuration.
	Keys string
}

// Follow returns another configuration for the host of l: with server and store of l, with what overrides l,
// and with relative paths in the folder of l.
func (l *Loaded) Follow(f Followed) (*Loaded, error) {
	text, err := l.withOwn(f.Data)
	if err != nil {
		return nil, err
	}
	next := &Loaded{File: f.Name, Dir: l.Dir, lockFile: f.Lock, read: func() ([]byte, error) { return text, nil }}
	for _, o := range l.overridden {
		if o.Path != "plugins.dir" { // the lock says which modules there are
			next.overridden = append(next.overridden, o)
		}
	}
	for _, o := range Overrides {
		value := map[string]string{"plugins.dir": f.Plugins, "server.keys": f.Keys}[o.Path]
		if value != "" {
			next.overridden = append(next.overridden, overridden{o, value, "rollout"})
		}
	}
	return next.Again()
}

// again reads a configuration that is in no file of the system.
func (l *Loaded) again() (*Loaded, error) {
	data, err := l.read()
	if err != nil {
		return nil, err
	}
	next, err := parse(l.File, l.Dir, l.lockFile, data)
	if err == nil {
		next.read = l.read
	}
	return next, err
}

// withOwn returns the text of a configuration with the sections of the file of l that hosts do not share.
func (l *Loaded) withOwn(data []byte) ([]byte, error) {
	root, err := mapOf("rollout", data)
	if err != nil {
		return nil, err
	}
	own := &yaml.Node{}
	if l.File != "" {
		text, err := os.ReadFile(l.Location())
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		if own, err = mapOf(l.File, text); err != nil {
			return nil, err
		}
	}
	out := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if !slices.Contains(ownSections, root.Content[i].Value) {
			out.Content = append(out.Content, root.Content[i:i+2]...)
		}
	}
	for i := 0; i+1 < len(own.Content); i += 2 {
		if slices.Contains(ownSections, own.Content[i].Value) {
			out.Content = append(out.Content, own.Content[i:i+2]...)
		}
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	if err := e.Encode(out); err != nil {
		return nil, fmt.Errorf("configuration of the rollout: %w", err)
	}
	return b.Bytes(), e.Close()
}

// mapOf returns the map that a document is. The strict parser judges it before or after.
func mapOf(name string, data []byte) (*yaml.Node, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%w: %s: larger than %d MiB", ErrInvalid, name, MaxFile>>20)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, name, err)
	}
	if len(doc.Content) == 0 {
		return &yaml.Node{}, nil // an empty file
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%w: %s: want a map", ErrInvalid, name)
	}
	return doc.Content[0], nil
}
