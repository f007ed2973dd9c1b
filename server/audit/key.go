package audit

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/anchor-host/anchor-host/internal/config"
)

// ErrInvalid is wrapped by errors about keys and logs that are not as they have to be. It wraps that
// of configurations.
var ErrInvalid error = invalid{}

type invalid struct{}

func (invalid) Error() string { return "not valid" }
func (invalid) Unwrap() error { return config.ErrInvalid }

const maxKeyFile = 64 << 10

// Key reads the private key that signs heads: Ed25519 in PEM (PKCS 8), as "openssl genpkey
// -algorithm ed25519" writes it. If there is no file, Key makes a key and writes it, and the public
// key into a file of the same name with .pub at its end, for those who verify.
func Key(path string) (ed25519.PrivateKey, error) {
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newKey(path)
	}
	return key, err
}

// readKey is Key for a file that is there.
func readKey(path string) (ed25519.PrivateKey, error) {
	block, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("audit: key: %w: %s: want an Ed25519 key in PEM (openssl genpkey -algorithm ed25519)", ErrInvalid, path)
	}
	return key, nil
}

// PublicKey reads a public key in PEM, or the public part of a private key.
func PublicKey(path string) (ed25519.PublicKey, error) {
	block, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	if block.Type == "PRIVATE KEY" {
		key, err := readKey(path)
		if err != nil {
			return nil, err
		}
		return key.Public().(ed25519.PublicKey), nil
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("audit: key: %w: %s: want a public Ed25519 key in PEM", ErrInvalid, path)
	}
	return key, nil
}

func readPEM(path string) (*pem.Block, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("audit: key: %w", err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("audit: key: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("audit: key: %w: %s: want PEM", ErrInvalid, path)
	}
	return block, nil
}

func newKey(path string) (ed25519.PrivateKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("audit: key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("audit: key: %w", err)
	}
	pub, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("audit: key: %w", err)
	}
	if err := writeNew(path, 0o600, &pem.Block{Type: "PRIVATE KEY", Bytes: der}); err != nil {
		return nil, err
	}
	_ = os.Remove(path + ".pub") // that of another key
	return private, writeNew(path+".pub", 0o644, &pem.Block{Type: "PUBLIC KEY", Bytes: pub})
}

func writeNew(path string, mode fs.FileMode, block *pem.Block) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("audit: key: %w", err)
	}
	err = pem.Encode(out, block)
	if err == nil {
		err = out.Sync()
	}
	err = cmp.Or(err, out.Close())
	if err != nil {
		return fmt.Errorf("audit: key: write: %w", err)
	}
	return nil
}
