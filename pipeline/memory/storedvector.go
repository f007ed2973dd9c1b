package memory

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/pipeline"
)

// KindVector is the kind under which the vectors of facts are stored.
const KindVector = "vector"

// StoredVector is the record of the vector of a text. Its ID is the SHA-256 of the text, in hex.
type StoredVector struct {
	// Model is the identity of the embedder that made the vector.
	Model string `json:"model"`
	// Vector holds numbers of 32 bits, the lowest byte first, in base64.
	Vector string `json:"vector"`
}

// Numbers returns the numbers of the vector. There is at least one, and all are finite.
func (v *StoredVector) Numbers() ([]float32, error) {
	data, err := base64.StdEncoding.DecodeString(v.Vector)
	if err != nil {
		return nil, fmt.Errorf("vector: %w", err)
	}
	if len(data) == 0 || len(data)%4 != 0 {
		return nil, fmt.Errorf("vector: %d bytes: %w (want a multiple of 4)", len(data), pipeline.ErrInvalid)
	}
	numbers := make([]float32, len(data)/4)
	for i := range numbers {
		x := math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("vector: number %d: %v: %w (want finite numbers)", i, x, pipeline.ErrInvalid)
		}
		numbers[i] = x
	}
	return numbers, nil
}

// vectorID returns the ID of the vector of a text.
func vectorID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
