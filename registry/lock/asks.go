package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/units"
	"github.com/anchor-host/anchor-host/registry/trust"
)

// MaxAsks is the largest number of lines that [Asks] returns.
const MaxAsks = 1000

// ErrTooMany says that a plugin asks for more than [MaxAsks] permissions.
var ErrTooMany = errors.New("too many permissions")

// Asks returns what a manifest asks for in the form that the package describes. A foreign module
// has no manifest (nil) and asks for nothing. Errors wrap [ErrTooMany].
func Asks(m *manifest.Manifest) ([]string, error) {
	lines := []string{}
	if m == nil {
		return lines, nil
	}
	for _, p := range m.Permissions {
		methods := max(len(p.Methods), 2)
		if n := max(len(p.Hosts), 1); n > MaxAsks || methods > MaxAsks || len(lines)+n*methods > 2*MaxAsks {
			return nil, tooMany(m)
		}
		lines = append(lines, permissionLines(p)...)
	}
	slices.Sort(lines)
	if lines = slices.Compact(lines); len(lines) > MaxAsks {
		return nil, tooMany(m)
	}
	return lines, nil
}

func tooMany(m *manifest.Manifest) error {
	return fmt.Errorf("manifest of %.100q: list permissions: %w: more than %d methods of hosts (ask for from_grant, or for *. and a domain)", m.Name, ErrTooMany, MaxAsks)
}

func permissionLines(p manifest.Permission) []string {
	switch p.Kind {
	case manifest.PermissionHTTP:
		return httpLines(p)
	case manifest.PermissionFiles:
		mode := "ro"
		if p.Mode == "rw" {
			mode = "rw"
		}
		return []string{"files " + mode + " " + word(p.Guest)}
	case manifest.PermissionKV:
		return []string{"kv " + units.FormatSize(spec.KVQuota(p))}
	}
	return []string{p.Kind + " " + word(p.Service)}
}

func httpLines(p manifest.Permission) (lines []string) {
	methods := p.Methods
	if len(methods) == 0 {
		methods = []string{"GET", "HEAD"}
	}
	for _, method := range methods {
		if p.Hosts.FromGrant() {
			lines = append(lines, "http "+method+" "+manifest.FromGrant)
		}
		for _, h := range p.Hosts {
			lines = append(lines, "http "+method+" "+server(h))
		}
	}
	return lines
}

// server returns the one way to write a pattern of hosts.
func server(s string) string {
	p, err := manifest.ParseHostPattern(s)
	if err != nil { // the manifest was checked before
		return word(s)
	}
	host, port := p.Name, "*"
	switch {
	case p.Addr.Is6():
		host = "[" + p.Addr.String() + "]"
	case p.Addr.IsValid():
		host = p.Addr.String()
	case p.Below:
		host = "*." + host
	}
	if p.Port != 0 {
		port = strconv.Itoa(int(p.Port))
	}
	return p.Scheme + "://" + host + ":" + port
}

// word returns a text as one word of a line.
func word(s string) string {
	odd := func(r rune) bool { return r == '"' || r == '\\' || unicode.IsSpace(r) || !unicode.IsGraphic(r) }
	if s == "" || strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}

// Hash returns the hash of the lines that [Asks] returned.
func Hash(asks []string) string {
	h := sha256.New()
	h.Write([]byte("anchor-host permissions 1\n"))
	for _, line := range asks {
		h.Write([]byte(line + "\n"))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Difference returns the lines of asks that no line of before allows already, and those of before
// that no line of asks needs any more. Both are results of [Asks]. A wider host, the mode rw and a
// larger quota allow the narrower ones.
func Difference(before, asks []string) (added, removed []string) {
	a, b := parseLines(before), parseLines(asks)
	return notCovered(b, a), notCovered(a, b)
}

// line is a line of [Asks] in its parts.
type line struct {
	text       string
	kind, word string
	value      string
	host       manifest.HostPattern
	size       int64
}

func parseLines(texts []string) []line {
	lines := make([]line, len(texts))
	for i, text := range texts {
		l := line{text: text}
		l.kind, l.word, _ = strings.Cut(text, " ")
		l.word, l.value, _ = strings.Cut(l.word, " ")
		switch l.kind {
		case manifest.PermissionHTTP:
			l.host, _ = manifest.ParseHostPattern(l.value) // the zero value covers nothing of value
			if l.value == manifest.FromGrant {
				l.host = manifest.HostPattern{}
			}
		case manifest.PermissionKV:
			l.size, _ = units.ParseSize(l.word) // 0 covers nothing
		}
		lines[i] = l
	}
	return lines
}

// notCovered returns the lines of a list that no line of the other one covers.
func notCovered(list, by []line) (out []string) {
	for _, l := range list {
		if !slices.ContainsFunc(by, func(b line) bool { return b.covers(l) }) {
			out = append(out, l.text)
		}
	}
	return out
}

// covers reports whether who has b may do everything that l asks for.
func (b line) covers(l line) bool {
	if b.text == l.text {
		return true
	}
	if b.kind != l.kind {
		return false
	}
	switch l.kind {
	case manifest.PermissionHTTP:
		return b.word == l.word && b.host.Scheme != "" && l.host.Scheme != "" && b.host.Covers(l.host)
	case manifest.PermissionFiles:
		return b.word == "rw" && l.word == "ro" && b.value == l.value
	case manifest.PermissionKV:
		return l.size > 0 && b.size >= l.size
	}
	return false
}

// Statement returns what a signature says about a plugin. Errors wrap [ErrTooMany].
func Statement(s *spec.Spec) (trust.Plugin, error) {
	asks, err := Asks(s.Manifest)
	if err != nil {
		return trust.Plugin{}, err
	}
	p := trust.Plugin{Name: s.Name, ABI: s.ABI, Permissions: Hash(asks)}
	if s.Manifest != nil {
		p.Name, p.Version = s.Manifest.Name, s.Manifest.Version
	}
	return p, nil
}
