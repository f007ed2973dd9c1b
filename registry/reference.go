package registry

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry/internal/image"
)

// Scheme begins the text of a reference.
const Scheme = "oci://"

// longestReference is far more than any registry accepts.
const longestReference = 1024

var (
	repositoryForm = regexp.MustCompile(`^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$`)
	tagForm        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	labelForm      = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$`)
)

// Reference names a plugin in a registry.
type Reference struct {
	// Host is the registry, in lower case and with the port if one is stated, such as "ghcr.io"
	// or "localhost:5000".
	Host string
	// Repository is the path in the registry, such as "acme/bm25".
	Repository string
	// Tag is the name of a version, such as "1.2", "" if none is stated.
	Tag string
	// Digest is the digest of the artifact's manifest, "" if none is stated. With a digest the
	// tag is only for readers.
	Digest string
}

// ParseReference reads a reference such as "oci://ghcr.io/acme/bm25:1.2", with a tag, a digest
// after "@", both, or neither. The prefix "oci://" may be missing. Errors wrap ErrReference.
func ParseReference(text string) (Reference, error) {
	r, err := parseReference(strings.TrimPrefix(text, Scheme))
	if err != nil {
		return Reference{}, errkind.As(ErrReference, fmt.Errorf("reference %s: %w", plain.Path(text), err))
	}
	return r, nil
}

func parseReference(text string) (r Reference, err error) {
	if len(text) > longestReference {
		return r, fmt.Errorf("is longer than %d bytes", longestReference)
	}
	if before, _, ok := strings.Cut(text, "://"); ok {
		return r, fmt.Errorf("begins with %s, want %s", plain.Name(before+"://"), Scheme)
	}
	host, path, ok := strings.Cut(text, "/")
	if !ok || path == "" {
		return r, errors.New("names no repository, want host/repository:tag, such as ghcr.io/acme/bm25:1.2")
	}
	if r.Host, err = parseHost(host); err != nil {
		return r, err
	}
	var pinned, tagged bool
	path, r.Digest, pinned = strings.Cut(path, "@")
	r.Repository, r.Tag, tagged = strings.Cut(path, ":")
	switch {
	case pinned && !image.DigestForm.MatchString(r.Digest):
		return r, errors.New("what follows @ is not a digest, want sha256: and 64 hexadecimal digits in lower case")
	case tagged && !tagForm.MatchString(r.Tag):
		return r, errors.New("what follows : is not a tag, want at most 128 letters, digits and the signs _ . -")
	case repositoryForm.MatchString(r.Repository):
		return r, nil
	case repositoryForm.MatchString(strings.ToLower(r.Repository)):
		return r, fmt.Errorf("the repository has capital letters, write %q", strings.ToLower(r.Repository))
	}
	return r, errors.New("the repository is not valid, want names of letters, digits and single . _ - in between, joined by /")
}

// parseHost checks the name of a server with an optional port.
func parseHost(text string) (string, error) {
	text = strings.ToLower(text)
	name, port := text, ""
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		name, port = text[:i], text[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port[0] == '0' || port[0] == '+' {
			return "", errors.New("the port of the registry is not a number from 1 to 65535")
		}
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		a, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !a.Is6() || a.Zone() != "" || !strings.HasSuffix(inner, "]") {
			return "", errors.New("the registry is not valid, want an IPv6 address in brackets")
		}
		return text, nil
	}
	for label := range strings.SplitSeq(name, ".") {
		if !labelForm.MatchString(label) {
			return "", errors.New("the registry is not valid, want the name of a server, such as ghcr.io or localhost:5000")
		}
	}
	if port == "" && name != "localhost" && !strings.Contains(name, ".") {
		return "", fmt.Errorf("%q is not the name of a server, begin with the registry, such as docker.io/%s", name, name)
	}
	return text, nil
}

// Name returns host and repository without tag and digest, such as "ghcr.io/acme/bm25".
func (r Reference) Name() string { return r.Host + "/" + r.Repository }

// At returns the reference with another digest.
func (r Reference) At(digest string) Reference {
	r.Digest = digest
	return r
}

// String returns the reference as ParseReference reads it, with the prefix.
func (r Reference) String() string {
	s := Scheme + r.Name()
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// versioned refuses a reference that names no version.
func (r Reference) versioned() error {
	if r.Tag == "" && r.Digest == "" {
		return errkind.As(ErrReference, fmt.Errorf("reference %s: names no version, add a tag, such as %s:1.0, or a digest", r, r))
	}
	return nil
}

// loopback says whether a host name with an optional port is this machine.
func loopback(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.Unmap().IsLoopback()
}
