package trust

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"aead.dev/minisign"
)

// maxComment bounds the comment of a signature and maxFileSignature the whole of it, in bytes.
const maxComment, maxFileSignature = 1024, 8192

// SignFile returns the signature that minisign writes beside a file, with its time and the name of
// the file in the comment that is signed too. minisign -V accepts it.
func (k *SecretKey) SignFile(data []byte, name string, now time.Time) ([]byte, error) {
	comment := fmt.Sprintf("timestamp:%d\tfile:%s\thashed", now.Unix(), name)
	if strings.ContainsRune(name, '\t') || !plainComment(comment) {
		return nil, fmt.Errorf("signature: write: name of the file %.100q: has control characters, or is too long (rename the file)", name)
	}
	r := minisign.NewReader(bytes.NewReader(data))
	hashed := make([]byte, 64<<10)
	for {
		if _, err := r.Read(hashed); err != nil {
			break // the end: memory has no other error
		}
	}
	return r.SignWithComments(k.key, comment, "signature from the key "+keyID(k.key.ID())), nil
}

// VerifyFile checks a signature that minisign or [SecretKey.SignFile] wrote beside a file, and
// returns who signed it. One of the keys must have made it.
// Errors wrap [ErrFormat], [ErrKey] or [ErrSignature].
func VerifyFile(keys []PublicKey, data, signature []byte) (Signer, error) {
	s, err := parseFileSignature(signature)
	if err != nil {
		return Signer{}, err
	}
	id := keyID(s.KeyID)
	var wrong bool
	for _, k := range keys {
		if k.ID != id || k.text == "" {
			continue
		}
		var key minisign.PublicKey
		if err := key.UnmarshalText([]byte(k.text)); err == nil && minisign.Verify(key, data, signature) {
			return Signer{Key: k.ID, Form: FormMinisign, Comment: s.TrustedComment}, nil
		}
		wrong = true
	}
	if wrong {
		return Signer{}, fmt.Errorf("signature of the file: verify: %w of the key %s: the file or its signature was changed (get both again)", ErrSignature, id)
	}
	return Signer{}, fmt.Errorf("signature of the file: verify: %w, %s (name this key if you trust it)", ErrKey, id)
}

// parseFileSignature reads a signature of minisign. It is stricter than the library, so that what
// is accepted here is accepted by minisign too.
func parseFileSignature(text []byte) (s minisign.Signature, err error) {
	bad := func(what string) error {
		return fmt.Errorf("signature of the file: read: %w: %s (want the four lines of a .minisig file)", ErrFormat, what)
	}
	if len(text) > maxFileSignature {
		return s, bad("too long")
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != 4 {
		return s, bad(fmt.Sprintf("%d lines", len(lines)))
	}
	for _, i := range []int{1, 3} {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
		if _, err := base64.StdEncoding.Strict().DecodeString(lines[i]); err != nil || strings.Contains(lines[i], "\r") {
			return s, bad(fmt.Sprintf("line %d is not base64", i+1))
		}
	}
	if err := s.UnmarshalText(text); err != nil {
		return s, bad("a line is damaged")
	}
	if !plainComment(s.TrustedComment) {
		return s, bad("the comment has control characters, or is too long")
	}
	return s, nil
}

// plainComment reports whether a comment can be shown as one line.
func plainComment(s string) bool {
	return len(s) <= maxComment && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) })
}
