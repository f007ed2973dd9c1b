package trust

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"aead.dev/minisign"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// maxKey bounds the text of a key, in bytes. Those of minisign have less than 400.
const maxKey = 4096

// commentPrefix begins the first line of minisign's files.
const commentPrefix = "untrusted comment: "

// PublicKey checks signatures. The zero value accepts none. See [ParsePublicKey].
type PublicKey struct {
	// ID names the key: 16 hexadecimal digits in capitals for a key of minisign, as minisign
	// shows it, and "sha256:" with the digest of its DER form for a key in PEM.
	ID string
	// ed or ec is the key itself.
	ed ed25519.PublicKey
	ec *ecdsa.PublicKey
	// text is the key in minisign's form, "" for a key in PEM.
	text string
}

// ParsePublicKey reads a public key: a file of minisign or its second line alone, or a PEM block
// with a key of Ed25519 or ECDSA P-256, as cosign writes it. Errors wrap [ErrFormat].
func ParsePublicKey(text string) (PublicKey, error) {
	text = strings.TrimSpace(text)
	switch {
	case len(text) > maxKey:
		return PublicKey{}, fmt.Errorf("public key: read: %w: longer than %d bytes", ErrFormat, maxKey)
	case strings.HasPrefix(text, "-----BEGIN "):
		return parsePEM(text)
	}
	if strings.HasPrefix(text, commentPrefix) {
		_, text, _ = strings.Cut(text, "\n")
		text = strings.TrimSpace(text)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") || len(raw) != 42 || string(raw[:2]) != "Ed" {
		return PublicKey{}, fmt.Errorf("public key: read: %w (want 56 characters that begin with RW, the second line of the .pub file, or a PEM block)", ErrFormat)
	}
	return PublicKey{ID: keyID(binary.LittleEndian.Uint64(raw[2:])), ed: ed25519.PublicKey(raw[10:]), text: text}, nil
}

func parsePEM(text string) (PublicKey, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "PUBLIC KEY" || len(bytes.TrimSpace(rest)) > 0 {
		return PublicKey{}, fmt.Errorf("public key: read: %w (want one PEM block PUBLIC KEY)", ErrFormat)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return PublicKey{}, fmt.Errorf("public key: read: %w: %s", ErrFormat, plain.Excerpt(err.Error()))
	}
	sum := sha256.Sum256(block.Bytes)
	k := PublicKey{ID: "sha256:" + hex.EncodeToString(sum[:])}
	switch parsed := parsed.(type) {
	case ed25519.PublicKey:
		k.ed = parsed
		return k, nil
	case *ecdsa.PublicKey:
		if parsed.Curve == elliptic.P256() {
			k.ec = parsed
			return k, nil
		}
	}
	return PublicKey{}, fmt.Errorf("public key: read: %w: a key of another kind (want Ed25519 or ECDSA P-256)", ErrFormat)
}

// String returns the key as one line in minisign's form, for a policy. It is "" for a key in PEM.
func (k PublicKey) String() string { return k.text }

// PEM reports whether the key was read from a PEM block, as cosign writes it.
func (k PublicKey) PEM() bool { return k.text == "" && k.ID != "" }

// File returns the content of minisign's file for the key.
func (k PublicKey) File() []byte {
	return []byte(commentPrefix + "minisign public key " + k.ID + "\n" + k.text + "\n")
}

// accepts reports whether the key made a signature of a message: that of Ed25519, or one of ECDSA
// over the SHA-256 of the message, in ASN.1.
func (k PublicKey) accepts(message, signature []byte) bool {
	switch {
	case k.ed != nil:
		return ed25519.Verify(k.ed, message, signature)
	case k.ec != nil:
		sum := sha256.Sum256(message)
		return ecdsa.VerifyASN1(k.ec, sum[:], signature)
	}
	return false
}

// keyID returns the name of a key of minisign.
func keyID(n uint64) string { return fmt.Sprintf("%016X", n) }

// ParseKeyID reads the name of a key, as [PublicKey] states it. It accepts small letters, and
// the names of minisign without zeros at their begin. Errors wrap [ErrFormat].
func ParseKeyID(s string) (string, error) {
	if digits, ok := strings.CutPrefix(s, "sha256:"); ok {
		if _, err := hex.DecodeString(digits); err == nil && len(digits) == 64 {
			return strings.ToLower(s), nil
		}
	} else if n, err := strconv.ParseUint(s, 16, 64); err == nil {
		return keyID(n), nil
	}
	return "", fmt.Errorf("id of a key: read %.100q: %w (want up to 16 hexadecimal digits, or sha256: and 64 of them)", s, ErrFormat)
}

// SecretKey makes signatures. See [Generate] and [ParseSecretKey].
type SecretKey struct {
	key minisign.PrivateKey
	ed  ed25519.PrivateKey
}

// Generate makes a new key.
func Generate() (*SecretKey, error) {
	_, key, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key: generate: %w", err)
	}
	return newSecret(key)
}

// newSecret refuses a key whose halves do not belong together: its signatures could reveal it.
func newSecret(key minisign.PrivateKey) (*SecretKey, error) {
	text, err := key.MarshalText()
	if err != nil {
		return nil, fmt.Errorf("secret key: encode: %w", err)
	}
	_, line, _ := bytes.Cut(text, []byte("\n"))
	raw, err := base64.StdEncoding.DecodeString(string(line))
	if err != nil || len(raw) < 126 {
		return nil, fmt.Errorf("secret key: read: %w", ErrFormat)
	}
	ed := ed25519.NewKeyFromSeed(raw[62:94])
	if !bytes.Equal(ed[32:], raw[94:126]) {
		return nil, fmt.Errorf("secret key: read: %w: its public half does not belong to it (take the file from a backup, or make a new key)", ErrFormat)
	}
	return &SecretKey{key, ed}, nil
}

// Public returns the public half.
func (k *SecretKey) Public() PublicKey {
	raw := append([]byte("Ed"), binary.LittleEndian.AppendUint64(nil, k.key.ID())...)
	public, _ := k.ed.Public().(ed25519.PublicKey)
	return PublicKey{
		ID: keyID(k.key.ID()), ed: public,
		text: base64.StdEncoding.EncodeToString(append(raw, public...)),
	}
}

// Encrypted reports whether the text of a secret key can only be read with a password.
func Encrypted(text []byte) bool {
	return len(text) <= maxKey && minisign.IsEncrypted(bytes.TrimSpace(text))
}

// ParseSecretKey reads minisign's file of a secret key. The password is not used for a key that is
// not encrypted. To decrypt takes seconds and 1 GiB of memory, as the format demands.
// Errors wrap [ErrFormat] or [ErrPassword].
func ParseSecretKey(text []byte, password string) (*SecretKey, error) {
	if len(text) > maxKey {
		return nil, fmt.Errorf("secret key: read: %w: longer than %d bytes", ErrFormat, maxKey)
	}
	text = bytes.TrimSpace(text)
	if Encrypted(text) {
		key, err := minisign.DecryptKey(password, text)
		if err != nil {
			return nil, fmt.Errorf("secret key: decrypt: %w (or the file is damaged)", ErrPassword)
		}
		return newSecret(key)
	}
	var key minisign.PrivateKey
	if err := key.UnmarshalText(text); err != nil {
		return nil, fmt.Errorf("secret key: read: %w (want a file that keygen or minisign -G has written)", ErrFormat)
	}
	return newSecret(key)
}

// File returns the content of minisign's file for the key. It is encrypted unless the password
// is "".
func (k *SecretKey) File(password string) ([]byte, error) {
	encode := k.key.MarshalText
	if password != "" {
		encode = func() ([]byte, error) { return minisign.EncryptKey(password, k.key) }
	}
	text, err := encode()
	if err != nil {
		return nil, fmt.Errorf("secret key: encode: %w", err)
	}
	return append(text, '\n'), nil
}

// WriteKeys writes a key into two files. It replaces neither: an error wraps
// [io/fs.ErrExist] if there is one. Only the owner can read the secret one.
func WriteKeys(k *SecretKey, password, secretPath, publicPath string) error {
	text, err := k.File(password)
	if err != nil {
		return err
	}
	if err := writeNew(publicPath, k.Public().File(), 0o644); err != nil {
		return fmt.Errorf("public key: write: %w (give another name, or remove the file)", err)
	}
	if err := writeNew(secretPath, text, 0o600); err != nil {
		_ = os.Remove(publicPath) // it was written a moment ago, and belongs to nothing
		return fmt.Errorf("secret key: write: %w (give another name, or remove the file)", err)
	}
	return nil
}

// writeNew writes a file that does not exist yet. After an error there is no part of it.
func writeNew(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(path) // only the first error is reported
	}
	return err
}

// sign returns the signature of a message.
func (k *SecretKey) sign(message []byte) []byte {
	signature, _ := k.ed.Sign(nil, message, crypto.Hash(0)) // it fails for hashes only
	return signature
}
