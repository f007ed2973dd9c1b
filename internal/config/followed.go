package config

import (
	"bytes"
	"slices"

	"github.com/anchor-host/anchor-host/internal/strict"
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
	next := &Loaded{File: f.Name, Dir: l.Dir, lockFile: f.Lock, own: l.node, read: func() ([]byte, error) {
		return ReadAll(f.Name, bytes.NewReader(f.Data))
	}}
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

// withOwn returns a document with the sections of the host's own file in the place of its own ones. What is no map stays
// as it is: decoding refuses it.
func withOwn(n, own *strict.Node) *strict.Node {
	if n.Kind != strict.Map {
		return n
	}
	var entries []strict.Entry
	for _, e := range n.Entries() {
		if !slices.Contains(ownSections, e.Key) {
			entries = append(entries, e)
		}
	}
	for _, e := range own.Entries() {
		if slices.Contains(ownSections, e.Key) {
			entries = append(entries, e)
		}
	}
	return strict.NewMap(n.Pos, entries...)
}
