package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
)

const (
	prefix     = "ah_"
	idLen      = 12 // of new keys
	minID      = 4
	maxID      = 40
	secretLen  = 32
	alphabet   = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	maxToken   = len(prefix) + maxID + 1 + secretLen
	fairBelow  = 256 / len(alphabet) * len(alphabet) // bytes below it are spread evenly
	headerName = "X-Api-Key"
)

// Token is a key as a client sends it.
type Token struct {
	// ID names the key in the file.
	ID string
	// Secret is what only the client knows.
	Secret string
}

// NewToken makes a key with a random id and a random secret.
func NewToken() Token { return Token{ID: random(idLen), Secret: random(secretLen)} }

// String returns the key as a client sends it.
func (t Token) String() string { return prefix + t.ID + "_" + t.Secret }

// Digest returns the SHA-256 of the secret, in hexadecimal.
func (t Token) Digest() string {
	sum := sha256.Sum256([]byte(t.Secret))
	return hex.EncodeToString(sum[:])
}

// random returns n random letters and digits. The system's random numbers never fail.
func random(n int) string {
	out := make([]byte, 0, n)
	for b := make([]byte, n); len(out) < n; {
		_, _ = rand.Read(b)
		for _, c := range b {
			if int(c) < fairBelow && len(out) < n {
				out = append(out, alphabet[int(c)%len(alphabet)])
			}
		}
	}
	return string(out)
}

// ParseToken reads a key as a client sends it. Its time depends only on the length of the text.
func ParseToken(s string) (Token, bool) {
	if len(s) > maxToken {
		return Token{}, false
	}
	rest, ok := strings.CutPrefix(s, prefix)
	id, secret, found := strings.Cut(rest, "_")
	if !ok || !found || !validID(id) || len(secret) != secretLen || !plain(secret) {
		return Token{}, false
	}
	return Token{ID: id, Secret: secret}, true
}

func validID(s string) bool { return len(s) >= minID && len(s) <= maxID && plain(s) }

// plain reports whether a text has only letters and digits of ASCII.
func plain(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') })
}

// sent returns the key in the header of a request. It is in Authorization, with the scheme
// Bearer, or in x-api-key, or in both; "" means that there is none. ok is false if the header
// says different things.
func sent(h http.Header) (key string, ok bool) {
	given := false
	for _, value := range h.Values("Authorization") {
		scheme, rest, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			rest = "" // another scheme has no key of ours
		}
		if key, ok = agree(key, strings.Trim(rest, " "), given); !ok {
			return "", false
		}
		given = true
	}
	for _, value := range h.Values(headerName) {
		if key, ok = agree(key, strings.Trim(value, " "), given); !ok {
			return "", false
		}
		given = true
	}
	return key, true
}

// agree returns the key that a further field gives, if it is the same as that of the fields before.
func agree(before, now string, given bool) (string, bool) {
	same := !given || subtle.ConstantTimeCompare([]byte(before), []byte(now)) == 1
	return now, same
}
