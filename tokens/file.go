package tokens

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/anchor-host/anchor-host/tokens/internal/hf"
)

// MaxFileSize is the largest size in bytes of a file that [ReadFile] reads: 64 MiB.
const MaxFileSize = hf.MaxSize

// ReadFile returns the tokenizer that a file describes. The file is the tokenizer.json of a model,
// in the format of the library "tokenizers" by Hugging Face: a BPE or Unigram model with its
// normalizers and pre-tokenizers. The counts are those of the library for a text alone, without
// the tokens that it adds around a text.
//
// Reading takes about a second for the largest files, and the result about twice the memory of
// the file, so keep it. The error names the part of the file that is wrong or not supported.
func ReadFile(path string) (*Encoding, error) {
	data, err := hf.Load(path)
	if err != nil {
		return nil, err
	}
	tokenizer, err := hf.Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	digest := sha256.Sum256(data)
	e := newEncoding(filepath.Base(path), hex.EncodeToString(digest[:]), func(string) (counter, error) { return tokenizer, nil })
	e.divide = tokenizer.NextSplit
	return e, nil
}
