package keys

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/quota"
	"github.com/anchor-host/anchor-host/store"
)

const (
	// maxFile is the largest file of keys, in bytes.
	maxFile = 32 << 20
	// MaxKeys is the largest number of keys of a file.
	MaxKeys = 100_000
	// maxNote is the longest note of a key, in bytes.
	maxNote = 1000
)

// Scopes are the scopes that a key may have.
var Scopes = []string{server.ScopeBuild, server.ScopeMemoryRead, server.ScopeMemoryWrite, server.ScopeCollections, server.ScopeCollectionsWrite, server.ScopeAdmin, server.ScopeContent}

// ErrInvalid is wrapped by errors about files that are not as they have to be. It wraps that of
// configurations.
var ErrInvalid error = invalid{}

type invalid struct{}

func (invalid) Error() string { return "not a file of keys" }
func (invalid) Unwrap() error { return config.ErrInvalid }

// ErrNotFound is wrapped by errors about ids that no key has. It wraps that of stores.
var ErrNotFound = fmt.Errorf("no such key: %w", store.ErrNotFound)

// File is the content of a file of keys.
type File struct {
	// Version is the form of the file. There is only 1.
	Version int `key:"version,required" json:"version" min:"1" max:"1" doc:"The form of this file: 1."`
	// Default are the limits of tenants that have no own ones.
	Default quota.Limits `key:"default" json:"default,omitzero" doc:"What a tenant may use that tenants does not name."`
	// Tenants are the limits of tenants, by name. They replace Default as a whole.
	Tenants map[string]quota.Limits `key:"tenants" json:"tenants,omitempty" doc:"What a tenant may use with all of its keys, by the name of the tenant."`
	// Keys are the keys. Their ids differ.
	Keys []Key `key:"keys" json:"keys" doc:"The keys."`
}

// Key is one key of a file, without its secret.
type Key struct {
	// ID names the key, and SHA256 is that of its secret, in hexadecimal.
	ID     string `key:"id,required" json:"id" doc:"The part of the key that is no secret."`
	SHA256 string `key:"sha256,required" json:"sha256,omitempty" doc:"SHA-256 of the secret, in hexadecimal."`
	// Tenant owns what requests read and write, and Scopes are what they may do.
	Tenant string   `key:"tenant,required" json:"tenant" doc:"The owner of everything that requests with this key read and write."`
	Scopes []string `key:"scopes,required" json:"scopes" doc:"What the key allows: build, memory:read, memory:write, collections, admin, content."`
	// Created is when the key was made. From Expires and Revoked on it is refused; the zero time
	// means never.
	Created time.Time `key:"created" json:"created,omitzero" doc:"When the key was made."`
	Expires time.Time `key:"expires" json:"expires,omitzero" doc:"From when on the key is refused. Default: never."`
	Revoked time.Time `key:"revoked" json:"revoked,omitzero" doc:"Since when the key is refused."`
	// Note says who has the key.
	Note string `key:"note" json:"note,omitempty" doc:"Holder and purpose of the key."`
	// Quotas are limits of this key alone, in addition to those of its tenant.
	Quotas quota.Limits `key:"quotas" json:"quotas,omitzero" doc:"What may be used with this key alone, in addition to the limits of the tenant."`
}

// State says whether a key is accepted at a time: "active", "expired" or "revoked".
func (k *Key) State(now time.Time) string {
	switch {
	case !k.Revoked.IsZero() && !k.Revoked.After(now):
		return "revoked"
	case !k.Expires.IsZero() && !k.Expires.After(now):
		return "expired"
	}
	return "active"
}

// Find returns the place of a key in the list, or -1.
func (f *File) Find(id string) int {
	return slices.IndexFunc(f.Keys, func(k Key) bool { return k.ID == id })
}

// Read reads a file of keys. If there is none, the error wraps [fs.ErrNotExist].
func Read(path string) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, unread(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, fmt.Errorf("keys: read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("keys: read: %w: %s: is no regular file (name the file of the keys)", ErrInvalid, path)
	}
	if err := checkMode(path, info.Mode()); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("keys: read: %w", err)
	}
	return Parse(path, data)
}

// unread is the error of a file that cannot be opened.
func unread(err error) error {
	remedy := ""
	if notThere(err) {
		remedy = " (make the file with its first key: anchor-host keys add --tenant NAME --scopes build)"
	}
	return fmt.Errorf("keys: read: %w%s", err, remedy)
}

// Parse reads the content of a file. It is JSON if the name ends with .json, else YAML.
func Parse(path string, data []byte) (*File, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%w: %s: larger than %d MiB", ErrInvalid, path, maxFile>>20)
	}
	parse := strict.ParseYAML
	if isJSON(path) {
		parse = strict.ParseJSON
	}
	n, err := parse(path, data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	var f File
	if err := strict.Decode(path, n, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, path, err)
	}
	return &f, nil
}

func isJSON(path string) bool { return strings.EqualFold(filepath.Ext(path), ".json") }

// check says what is wrong with the values of a file, the first mistake only.
func (f *File) check() error {
	if len(f.Keys) > MaxKeys {
		return fmt.Errorf("keys: %d (want %d at most)", len(f.Keys), MaxKeys)
	}
	for name := range f.Tenants {
		if err := checkTenant(name); err != nil {
			return fmt.Errorf("tenants: %w", err)
		}
	}
	seen := make(map[string]int, len(f.Keys))
	for i := range f.Keys {
		if err := f.Keys[i].check(); err != nil {
			return fmt.Errorf("keys[%d]: %w", i, err)
		}
		if first, ok := seen[f.Keys[i].ID]; ok {
			return fmt.Errorf("keys[%d]: id %q is that of keys[%d] (give each key its own)", i, f.Keys[i].ID, first)
		}
		seen[f.Keys[i].ID] = i
	}
	return nil
}

func (k *Key) check() error {
	if !validID(k.ID) {
		return fmt.Errorf("id: want %d to %d letters and digits, got %.50q", minID, maxID, k.ID)
	}
	if sum, err := hex.DecodeString(k.SHA256); err != nil || len(sum) != 32 {
		return fmt.Errorf("sha256 of %s: want 64 hexadecimal digits", k.ID)
	}
	if err := checkTenant(k.Tenant); err != nil {
		return fmt.Errorf("tenant of %s: %w", k.ID, err)
	}
	if len(k.Note) > maxNote {
		return fmt.Errorf("note of %s: %d bytes (want %d at most)", k.ID, len(k.Note), maxNote)
	}
	return CheckScopes(k.Scopes)
}

// CheckScopes says what is wrong with the scopes of a key.
func CheckScopes(scopes []string) error {
	if len(scopes) == 0 {
		return fmt.Errorf("scopes: none (want some of %s)", strings.Join(Scopes, ", "))
	}
	seen := map[string]bool{}
	for _, s := range scopes {
		known := false
		for _, k := range Scopes {
			known = known || k == s
		}
		if !known {
			return fmt.Errorf("scopes: unknown scope %.50q%s", s, strict.Hint(s, Scopes))
		}
		if seen[s] {
			return fmt.Errorf("scopes: %s is there twice", s)
		}
		seen[s] = true
	}
	return nil
}

func checkTenant(s string) error {
	return config.CheckTenant(s)
}

// Limits returns the limits of a tenant.
func (f *File) Limits(tenant string) quota.Limits {
	if l, ok := f.Tenants[tenant]; ok {
		return l
	}
	return f.Default
}

// encode writes the file in the form that its name says.
func (f *File) encode(path string) ([]byte, error) {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil || isJSON(path) {
		return append(data, '\n'), err
	}
	var doc yaml.Node // JSON is YAML, and a node keeps the order of keys
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	block(&doc)
	var b bytes.Buffer
	b.WriteString("# Keys of anchor-host serve. \"anchor-host keys\" rewrites this file; comments are lost.\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// block gives lists and maps a line for each element, but lists of scopes, and texts no quotes
// where they need none.
func block(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.SequenceNode && len(n.Content) > 0 && n.Content[0].Kind == yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	for _, c := range n.Content {
		block(c)
	}
}

// notThere reports whether an error says that there is no file.
func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }
