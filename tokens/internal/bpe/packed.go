package bpe

import (
	_ "embed" // for the vocabularies
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// packed has the vocabularies of tiktoken-go-loader in a fifth of their size: for each frame its length in
// four bytes, then the frames. Each is compressed with zstd: the number of ranks in four bytes, for each rank the
// length of its token in a byte, and the bytes of all tokens. A rank without a token has length 0.
// "go test -run Packed -update" writes it.
//
//go:embed vocab.zst
var packed string

// Frames of packed. The tokens of r50k_base are the first ones of p50k_base.
const (
	frameCL100K = iota
	frameO200K
	frameP50K
	frames
)

const (
	r50kTokens = 50256
	// maxUnpacked is more than each frame has, in bytes.
	maxUnpacked = 4 << 20
)

var errPacked = errors.New("the embedded vocabularies are damaged")

// unpack returns the lengths of the tokens of a frame by their ranks, and their bytes. ranks is how many of
// them are wanted; 0 means all.
func unpack(data string, frame, ranks int) (lengths, text []byte, err error) {
	at := 4 * frames
	if len(data) < at {
		return nil, nil, errPacked
	}
	for i := range frame {
		at += int(binary.BigEndian.Uint32([]byte(data[4*i:])))
	}
	end := at + int(binary.BigEndian.Uint32([]byte(data[4*frame:])))
	if end > len(data) {
		return nil, nil, errPacked
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	body, err := r.DecodeAll([]byte(data[at:end]), nil)
	if err != nil {
		return nil, nil, err
	}
	return cutTokens(body, ranks)
}

// cutTokens cuts an unpacked frame into the lengths and the bytes of the first tokens.
func cutTokens(body []byte, ranks int) (lengths, text []byte, err error) {
	if len(body) < 4 || uint64(len(body)-4) < uint64(binary.BigEndian.Uint32(body)) {
		return nil, nil, errPacked
	}
	n := 4 + int(binary.BigEndian.Uint32(body))
	lengths, text = body[4:n], body[n:]
	if ranks == 0 {
		return lengths, text, nil
	}
	if ranks > len(lengths) {
		return nil, nil, errPacked
	}
	size := 0
	for _, l := range lengths[:ranks] {
		size += int(l)
	}
	if size > len(text) {
		return nil, nil, errPacked
	}
	return lengths[:ranks], text[:size], nil
}

// Ranks returns the ranks of the tokens of an encoding, by their bytes.
func Ranks(name string) (map[string]int, error) {
	d, err := lookup(name)
	if err != nil {
		return nil, err
	}
	lengths, text, err := unpack(packed, d.frame, d.ranks)
	if err != nil {
		return nil, fmt.Errorf("encoding %q: read vocabulary: %w", name, err)
	}
	ranks := make(map[string]int, len(lengths))
	rest := string(text)
	for rank, n := range lengths {
		if int(n) > len(rest) {
			return nil, fmt.Errorf("encoding %q: read vocabulary: %w", name, errPacked)
		}
		if n > 0 {
			ranks[rest[:n]] = rank
		}
		rest = rest[n:]
	}
	return ranks, nil
}
