package audit

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/appendjson"
)

// Entry is one thing that was done.
type Entry struct {
	// Key is the id of the key with which it was done, and Tenant the tenant of that key.
	Key    string `json:"key,omitempty"`
	Tenant string `json:"tenant,omitempty"`
	// Action is what was done, such as "build" or "deleteFact". Names of the log itself begin with
	// "audit.".
	Action string `json:"action"`
	// Object is the digest of what it was done on, as [Digest] writes it.
	Object string `json:"object,omitempty"`
	// Outcome is how it ended, such as "ok" or "quota_exceeded", and Status the HTTP status.
	Outcome string `json:"outcome"`
	Status  int    `json:"status,omitempty"`
	// Request is the id of the request.
	Request string `json:"request,omitempty"`
	// Generation is the version of the configuration that was used.
	Generation int64 `json:"generation,omitempty"`
	// Count is a number of lines or bytes, where the action says of what.
	Count int64 `json:"count,omitempty"`
}

// Digest names content without having it: "sha256:" and the digest in hexadecimal.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// line is a line of the log. The order of its members is part of what is signed, as bytes.
type line struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	// Prev is the digest of the line before this one, and of nothing for the first.
	Prev string `json:"prev"`
	Entry
	Head *head `json:"head,omitempty"`
}

// head signs all lines before it.
type head struct {
	Key       string `json:"key"` // which key it was
	Signature []byte `json:"signature"`
}

const (
	maxText = 256      // of a text of an entry, in bytes
	maxLine = 16 << 10 // of a line, in bytes
)

// first is the digest before the first line.
var first = strings.Repeat("0", 64)

// shorten bounds a text.
func shorten(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}

// encode writes a line without its end.
func (l *line) encode() ([]byte, error) {
	for _, text := range []*string{&l.Key, &l.Tenant, &l.Action, &l.Object, &l.Outcome, &l.Request} {
		*text = shorten(*text)
	}
	return appendjson.Append(nil, l)
}

// digestOf returns the digest of a line without its end.
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// signed is what the signature of a head is made of.
func (l *line) signed() []byte {
	return fmt.Appendf(nil, "anchor-host audit head 1\n%d\n%s\n%s\n", l.Seq, l.Prev, l.Time.UTC().Format(time.RFC3339Nano))
}

// KeyName returns the short name of a public key, as heads state it.
func KeyName(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}
