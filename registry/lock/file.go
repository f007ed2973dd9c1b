package lock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/registry/trust"
)

const (
	// Name is the name of the file. It is in the folder of anchor.yaml.
	Name = "anchor.lock"
	// Version is the form of the file that this package reads and writes.
	Version = 1
	// MaxPlugins is the largest number of plugins of a file.
	MaxPlugins = 1000

	// maxFile bounds the file, in bytes.
	maxFile = 4 << 20
)

// ErrInvalid says that a file is not a valid anchor.lock.
var ErrInvalid = errors.New("not a valid " + Name)

// File is the content of anchor.lock.
type File struct {
	// Version is the form of the file: 1.
	Version int `key:"version,required" yaml:"version" min:"1" max:"1" doc:"The form of this file: 1."`
	// Plugins are sorted by name, and their names differ.
	Plugins []Entry `key:"plugins" yaml:"plugins" doc:"The plugins, sorted by name."`
	// Servers are the MCP servers that may be asked, sorted by name, and their names differ.
	Servers []Server `key:"mcp" yaml:"mcp,omitempty" doc:"The MCP servers that may be asked, sorted by name."`
}

// Entry is one plugin of the file.
type Entry struct {
	// Name is that of the plugin in the plugin folder. If the folder has several versions of a
	// plugin, it is the name, "@" and the version.
	Name string `key:"name,required" yaml:"name" doc:"The name in the plugin folder, with @ and the version if there are several."`
	// Reference is where it was taken from, such as oci://ghcr.io/acme/bm25:1.2. It is "" for
	// a file that somebody put into the folder.
	Reference string `key:"reference" yaml:"reference,omitempty" doc:"Where the plugin was taken from. Default: a file that was put into the folder."`
	// Version is that of its manifest. It is "" for a foreign module, which has none.
	Version string `key:"version" yaml:"version,omitempty" doc:"The version in its manifest."`
	// Manifest is the digest of the artifact in the registry. It is there if Reference is.
	Manifest string `key:"manifest" yaml:"manifest,omitempty" doc:"Digest of the artifact in the registry."`
	// Module is the digest of the module: "sha256:" and 64 hexadecimal digits.
	Module string `key:"module,required" yaml:"module" doc:"Digest of the module."`
	// Signer is the id of the key that signed the artifact (see trust.PublicKey). It is "" if
	// no key of the policy did.
	Signer string `key:"signer" yaml:"signer,omitempty" doc:"Id of the key that signed the artifact."`
	// PermissionsHash is the [Hash] of Permissions.
	PermissionsHash string `key:"permissions_hash,required" yaml:"permissions_hash" doc:"Hash of permissions."`
	// Permissions is what the plugin asks for, in the form of [Asks].
	Permissions []string `key:"permissions" yaml:"permissions,omitempty" doc:"What the plugin asks for."`
	// Operations are the names of its operations, sorted.
	Operations []string `key:"operations" yaml:"operations,flow,omitempty" doc:"The operations that it offers, sorted."`
}

// EntryOf returns the entry of a plugin that was read. The other arguments are as in Entry; all
// are "" for a file. Errors wrap [ErrTooMany].
func EntryOf(s *spec.Spec, reference, manifestDigest, signer string) (Entry, error) {
	asks, err := Asks(s.Manifest)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{
		Name: s.Name, Reference: reference, Manifest: manifestDigest, Module: s.Digest, Signer: signer,
		PermissionsHash: Hash(asks), Permissions: asks,
	}
	if s.Manifest != nil {
		e.Version = s.Manifest.Version
		for op := range s.Manifest.Operations {
			e.Operations = append(e.Operations, string(op))
		}
		slices.Sort(e.Operations)
	}
	return e, nil
}

// Find returns the entry of a name, nil if there is none.
func (f *File) Find(name string) *Entry {
	i := slices.IndexFunc(f.Plugins, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Plugins[i]
}

// Set adds an entry, or replaces the one of the same name.
func (f *File) Set(e Entry) {
	if old := f.Find(e.Name); old != nil {
		*old = e
		return
	}
	f.Plugins = append(f.Plugins, e)
	f.sort()
}

// Remove removes the entry of a name, and reports whether there was one.
func (f *File) Remove(name string) bool {
	n := len(f.Plugins)
	f.Plugins = slices.DeleteFunc(f.Plugins, func(e Entry) bool { return e.Name == name })
	return len(f.Plugins) < n
}

func (f *File) sort() {
	slices.SortFunc(f.Plugins, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(f.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
}

// Read reads a file. If there is none, the error wraps [fs.ErrNotExist]. If it is not valid, the
// error wraps [ErrInvalid] and lists all mistakes with line and column.
func Read(path string) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lock: read: %w", err)
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("lock: read: %s: %w: no regular file (remove it, and install the plugins again)", path, ErrInvalid)
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("lock: read: %w", err)
	}
	return Parse(path, data)
}

// Parse reads the content of a file. path is shown in errors, which wrap [ErrInvalid].
func Parse(path string, data []byte) (*File, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%w: %s: larger than %d MiB", ErrInvalid, path, maxFile>>20)
	}
	if line, found := conflict(data); found {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, strict.Problem{File: path, Pos: strict.Pos{Line: int32(line), Column: 1}, Message: "has a conflict of version control" +
			" (take one side of the whole file, then run: anchor-host plugin install)"})
	}
	n, err := strict.ParseYAML(path, data)
	switch {
	case errors.Is(err, strict.ErrTooMany):
		return nil, fmt.Errorf("%w: %s: has too many values (take it from version control, or remove it and install the plugins again)", ErrInvalid, path)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if newer, at := n.Find("version"); at && newer.Kind == strict.Int && newer.Text != strconv.Itoa(Version) {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, strict.Problem{File: path, Pos: newer.Pos, Path: "version", Message: fmt.Sprintf(
			"is %.20s, this anchor-host reads version %d (use the anchor-host that wrote the file, or remove it and install the plugins again)", newer.Text, Version)})
	}
	var f File
	if err := strict.Decode(path, n, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	c := checker{file: path, node: n}
	c.run(&f)
	if err := c.problems.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	f.sort()
	return &f, nil
}

// conflict returns the first line that marks a conflict of git.
func conflict(data []byte) (line int, found bool) {
	i := 0
	if !bytes.HasPrefix(data, []byte("<<<<<<< ")) {
		if i = bytes.Index(data, []byte("\n<<<<<<< ")) + 1; i == 0 {
			return 0, false
		}
	}
	return bytes.Count(data[:i], []byte("\n")) + 1, true
}

// encode writes the file as YAML.
func (f *File) encode() ([]byte, error) {
	f.sort()
	var b bytes.Buffer
	b.WriteString("# Which plugins belong to anchor.yaml. \"anchor-host plugin\" writes this file; keep both together.\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("lock: encode: %w", err)
	}
	return b.Bytes(), enc.Close()
}

// maxProblems is how many mistakes of a file are listed.
const maxProblems = 100

// checker finds mistakes that decoding does not see.
type checker struct {
	file     string
	node     *strict.Node
	problems strict.Problems
}

func (c *checker) find(path, format string, args ...any) {
	if len(c.problems) < maxProblems {
		at, _ := c.node.Find(path)
		c.problems = append(c.problems, strict.Problem{File: c.file, Pos: at.Pos, Path: path, Message: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) run(f *File) {
	if len(f.Plugins) > MaxPlugins {
		c.find("plugins", "has %d plugins (want %d at most)", len(f.Plugins), MaxPlugins)
		return
	}
	first := map[string]int{}
	for i := range f.Plugins {
		at, e := fmt.Sprintf("plugins[%d]", i), &f.Plugins[i]
		if j, twice := first[e.Name]; twice {
			c.find(at+".name", "%q is also the name of plugins[%d] (remove one)", e.Name, j)
		} else {
			first[e.Name] = i
		}
		c.entry(at, e)
	}
	c.servers(f.Servers)
}

// pluginName is a name in the plugin folder, with or without a version.
var pluginName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(@[0-9A-Za-z.+-]{1,100})?$`)
})

func (c *checker) entry(at string, e *Entry) {
	if !pluginName().MatchString(e.Name) {
		c.find(at+".name", "want a name such as bm25, or bm25@1.2.3, got %.100q", e.Name)
	}
	if _, err := parseVersion(e.Version); e.Version != "" && err != nil {
		c.find(at+".version", "%v", err)
	}
	if e.Reference != "" {
		if _, err := trust.Repository(e.Reference); err != nil || !strings.HasPrefix(e.Reference, "oci://") {
			c.find(at+".reference", "want one such as oci://ghcr.io/acme/bm25:1.2, got %.100q", e.Reference)
		}
	}
	if (e.Manifest == "") != (e.Reference == "") {
		c.find(at, "reference and manifest belong together (install the plugin again)")
	}
	for _, d := range []struct{ key, value string }{{"manifest", e.Manifest}, {"module", e.Module}, {"permissions_hash", e.PermissionsHash}} {
		if d.value != "" || d.key == "module" {
			if err := trust.CheckDigest(d.value); err != nil {
				c.find(at+"."+d.key, "want sha256: and 64 hexadecimal digits in small letters, got %.100q", d.value)
			}
		}
	}
	if id, err := trust.ParseKeyID(e.Signer); e.Signer != "" && (err != nil || id != e.Signer) {
		c.find(at+".signer", "want the id of a key, got %.100q", e.Signer)
	}
	if len(e.Permissions) > MaxAsks {
		c.find(at+".permissions", "has %d lines (want %d at most)", len(e.Permissions), MaxAsks)
	} else if Hash(e.Permissions) != e.PermissionsHash {
		c.find(at+".permissions_hash", "is not that of permissions, which is %s (do not edit them; take the file from version control, or delete this entry and run: anchor-host plugin install)", Hash(e.Permissions))
	}
	for i, op := range e.Operations {
		if !abi.Operation(op).Valid() {
			c.find(fmt.Sprintf("%s.operations[%d]", at, i), "unknown operation %.100q%s", op, strict.Hint(op, operations()))
		}
	}
}

func operations() (names []string) {
	for _, o := range abi.Operations {
		names = append(names, string(o.Op))
	}
	return names
}

// missing reports whether an error says that there is no file.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
