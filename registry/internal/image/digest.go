package image

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// DigestForm is the form of digests: "sha256:" and 64 hexadecimal digits in lower case.
var DigestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// DigestOf returns the digest of bytes.
func DigestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Describe returns the descriptor of bytes.
func Describe(mediaType string, b []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.Digest(DigestOf(b)), Size: int64(len(b))}
}
