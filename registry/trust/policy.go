package trust

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Require says what every plugin needs so that it may run.
type Require string

const (
	// RequireNone is the default: files in the plugin folder may run as they are.
	RequireNone Require = "none"
	// RequireDigest needs the digest of the module in anchor.lock.
	RequireDigest Require = "digest"
	// RequireSigned also needs a signature by a publisher of the policy.
	RequireSigned Require = "signed"
)

// Policy says which plugins may run, and whose signatures count. It is not changed after it was
// made, and is then safe for concurrent use. The zero value requires nothing and knows no key.
type Policy struct {
	// Require is what every plugin needs. "" means [RequireNone].
	Require Require
	// Publishers are the keys that may sign, by a pattern of references (see [CheckPattern]).
	// If several patterns match, the longest decides alone. Several keys let a publisher change
	// to a new one.
	Publishers map[string][]PublicKey
	// RevokedKeys are the ids of keys whose signatures do not count any more. [Policy.Verify] needs
	// the key itself to know its signatures: they are those of a revoked key only if Publishers
	// still lists it for the reference.
	RevokedKeys []string
	// RevokedDigests are manifests and modules that may not run, whoever signed them.
	RevokedDigests []string
}

// repository is what a reference names without tag and digest: a host and a path, as registries
// allow them.
var repository = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`)

// maxReference bounds a reference, in bytes.
const maxReference = 1000

// Repository returns the host and path of a reference such as oci://ghcr.io/acme/bm25:1.2, here
// ghcr.io/acme/bm25. Errors wrap [ErrReference].
func Repository(reference string) (string, error) {
	bad := fmt.Errorf("reference: read %.300q: %w (want one such as oci://ghcr.io/acme/bm25:1.2)", reference, ErrReference)
	if len(reference) > maxReference {
		return "", bad
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(reference, "oci://"), "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	host, path, _ := strings.Cut(name, "/")
	if name = strings.ToLower(host) + "/" + path; !repository.MatchString(name) {
		return "", bad
	}
	return name, nil
}

// CheckPattern refuses what is not a pattern of references: a repository such as
// ghcr.io/acme/bm25, or the begin of several followed by /*, such as ghcr.io/acme/*. Errors wrap
// [ErrReference].
func CheckPattern(s string) error {
	name, _ := strings.CutSuffix(s, "/*")
	if !strings.Contains(name, "/") {
		name += "/x" // a host alone
	}
	if strings.Contains(s, "://") || len(s) > maxReference || !repository.MatchString(name) || !strings.Contains(s, "/") {
		return fmt.Errorf("pattern of references: read %.100q: %w (want ghcr.io/acme/bm25, or ghcr.io/acme/* for all below)", s, ErrReference)
	}
	return nil
}

// Publisher returns the pattern that decides about a reference, and its keys. It returns "" if
// none matches.
func (p *Policy) Publisher(reference string) (pattern string, keys []PublicKey) {
	name, err := Repository(reference)
	if err != nil {
		return "", nil
	}
	for candidate := range p.Publishers {
		begin, below := strings.CutSuffix(candidate, "*")
		if (candidate == name || below && strings.HasPrefix(name, begin)) && longer(candidate, pattern) {
			pattern = candidate
		}
	}
	return pattern, p.Publishers[pattern]
}

// longer reports whether a pattern is narrower than another one that matches the same name.
func longer(a, b string) bool {
	length := func(s string) int { return 2*len(strings.TrimSuffix(s, "*")) - strings.Count(s, "*") }
	return b == "" || length(a) > length(b)
}

// CheckLocked checks what anchor.lock says of a plugin: where it comes from, the id of the key
// that signed it ("" for none), and the digests of its manifest and its module, of which some may
// be "". The signature itself was checked when the lock was written. Errors wrap [ErrUnsigned],
// [ErrKey] or [ErrRevoked].
func (p *Policy) CheckLocked(reference, signer string, digests ...string) error {
	for _, d := range digests {
		if d != "" && slices.Contains(p.RevokedDigests, d) {
			return revokedDigest(d)
		}
	}
	if signer != "" && slices.Contains(p.RevokedKeys, signer) {
		return revokedKey(signer)
	}
	if p.Require != RequireSigned {
		return nil
	}
	pattern, keys := p.Publisher(reference)
	switch {
	case signer == "":
		return fmt.Errorf("signature: look for: %w, and trust.require is signed (install a signed version)", ErrUnsigned)
	case !slices.ContainsFunc(keys, func(k PublicKey) bool { return k.ID == signer }):
		return unknownKey(signer, pattern, reference)
	}
	return nil
}

func revokedDigest(digest string) error {
	return fmt.Errorf("artifact %s: verify: %w by trust.revoked.digests (install another version)", digest, ErrRevoked)
}

func revokedKey(id string) error {
	return fmt.Errorf("signature: verify: its key %s is %w by trust.revoked.keys (install a version that is signed with another key)", id, ErrRevoked)
}

func unknownKey(id, pattern, reference string) error {
	id = cmp.Or(id, "which it does not name")
	if pattern == "" {
		return fmt.Errorf("signature: verify: %w, %s: trust.publishers has no entry for %.300q (add one with the key if you trust its owner)", ErrKey, id, reference)
	}
	return fmt.Errorf("signature: verify: %w, %s: trust.publishers does not list it for %q (add it there if you trust its owner)", ErrKey, id, pattern)
}
