// Command table makes the table of vectors that is part of the program, pipeline/retrieve/builtin/table.bin,
// from the token vectors of wordllama, which testdata/demo/table.sh fetches:
//
//	make builtin-table
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/builtin"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
)

// dimension is how many numbers of each vector are kept. The vectors were trained so that the first ones say
// most.
const dimension = 128

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "table: want the folder with table.safetensors and tokenizer.json, and the file to write")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(folder, out string) error {
	all, width, err := readVectors(filepath.Join(folder, "table.safetensors"))
	if err != nil {
		return err
	}
	texts, err := readTexts(filepath.Join(folder, "tokenizer.json"), len(all)/width)
	if err != nil {
		return err
	}
	v, sum := builtin.Vectors{Dimension: dimension}, sha256.New()
	for id, text := range texts {
		if !occurs(text) {
			continue
		}
		row := all[id*width:][:dimension]
		v.Texts, v.Vectors = append(v.Texts, strings.ReplaceAll(text, "▁", " ")), append(v.Vectors, row...)
		fmt.Fprintln(sum, text, row)
	}
	data, err := builtin.Make(v, [8]byte(sum.Sum(nil)))
	if err != nil {
		return err
	}
	fmt.Printf("%d of %d tokens, %d bytes\n", len(v.Texts), len(texts), len(data))
	return os.WriteFile(out, data, 0o644)
}

// occurs reports whether a token can be a part of a folded word.
func occurs(text string) bool {
	inner := strings.TrimPrefix(text, "▁")
	if inner == "" || strings.HasPrefix(text, "<") {
		return text == "▁"
	}
	if inner == "'" {
		return true
	}
	s := words.Scanner{Text: "x" + inner + "x"} // a part may begin or end with an apostrophe
	if s.Next() && string(s.Word()) == s.Text {
		return true
	}
	s.Reset(inner) // a character that is a word
	return s.Next() && string(s.Word()) == inner
}

// readVectors reads the only tensor of a safetensors file, of F16.
func readVectors(path string) (all []float32, width int, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8) {
		return nil, 0, fmt.Errorf("%s: no safetensors file", path)
	}
	head, body := data[8:8+binary.LittleEndian.Uint64(data)], data[8+binary.LittleEndian.Uint64(data):]
	var tensors map[string]struct {
		Type  string `json:"dtype"`
		Shape []int  `json:"shape"`
	}
	if err := json.Unmarshal(head, &tensors); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	for name, one := range tensors {
		if len(tensors) != 1 || one.Type != "F16" || len(one.Shape) != 2 || 2*one.Shape[0]*one.Shape[1] != len(body) || one.Shape[1] < dimension {
			return nil, 0, fmt.Errorf("%s: tensor %s: want one matrix of F16 with %d columns or more", path, name, dimension)
		}
		for i := 0; i < len(body); i += 2 {
			all = append(all, half(binary.LittleEndian.Uint16(body[i:])))
		}
		return all, one.Shape[1], nil
	}
	return nil, 0, errors.New("no tensor")
}

// half returns the number of 16 bits in the form of IEEE 754, which must be finite.
func half(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	if exponent == 0 {
		return math.Float32frombits(math.Float32bits(float32(fraction)/(1<<24)) | sign)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// readTexts reads the texts of n tokens, in the order of their ids, which is that of their merges.
func readTexts(path string, n int) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var tokenizer struct {
		Model struct {
			Vocab map[string]int `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(data, &tokenizer); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	texts := make([]string, n)
	for text, id := range tokenizer.Model.Vocab {
		if id < 0 || id >= n {
			return nil, fmt.Errorf("%s: token %q has no vector", path, text)
		}
		texts[id] = text
	}
	return texts, nil
}
