// Command go is a set of programs that compute in stock Go. The input of each says how large
// its task is, and its output is a checksum.
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"

	pdk "github.com/extism/go-pdk"
)

func size() int { return int(binary.LittleEndian.Uint64(pdk.Input())) }

func answer(sum uint32) int32 {
	pdk.Output(binary.LittleEndian.AppendUint64(nil, uint64(sum)))
	return 0
}

func checksum(v any) uint32 { return crc32.ChecksumIEEE(fmt.Append(nil, v)) }

// document is the document that the programs encode and decode.
type document struct {
	ID    string            `json:"id"`
	Text  string            `json:"text"`
	Score float64           `json:"score"`
	Meta  map[string]string `json:"meta"`
}

func documents(n int) []document {
	docs := make([]document, n)
	for i := range docs {
		docs[i] = document{
			ID: fmt.Sprint("doc-", i), Score: float64(i*7919%1000) / 1000, Meta: map[string]string{"path": "a/b.go", "lang": "en"},
			Text: strings.Repeat("a window holds what retrieval found ", 1+i%8),
		}
	}
	return docs
}

// decodeJSON encodes n documents and decodes them again.
//
//go:wasmexport json
func decodeJSON() int32 {
	data, err := json.Marshal(documents(size()))
	if err != nil {
		panic(err)
	}
	var docs []document
	if err := json.Unmarshal(data, &docs); err != nil {
		panic(err)
	}
	return answer(checksum(docs))
}

var word = regexp.MustCompile(`\b([a-z]+)-(\d{1,3})\b`)

// replace matches an expression over n lines.
//
//go:wasmexport regex
func replace() int32 {
	var b bytes.Buffer
	for i := range size() {
		fmt.Fprintf(&b, "line %d of doc-%d, seen in part-%d and nowhere else\n", i, i%500, i%70)
	}
	return answer(crc32.ChecksumIEEE(word.ReplaceAll(b.Bytes(), []byte("$2:$1"))))
}

// sortNumbers sorts n numbers.
//
//go:wasmexport sort
func sortNumbers() int32 {
	seed := uint32(7)
	numbers := make([]float64, size())
	for i := range numbers {
		seed = seed*1664525 + 1013904223
		numbers[i] = float64(seed) / 3
	}
	slices.Sort(numbers)
	return answer(checksum(numbers[len(numbers)/2]))
}

// countWords counts n words in a map.
//
//go:wasmexport map
func countWords() int32 {
	seed, counts := uint32(1), map[string]int{}
	for range size() {
		seed = seed*1664525 + 1013904223
		counts[string([]byte{'a' + byte(seed>>24)%26, 'a' + byte(seed>>16)%26})]++
	}
	return answer(uint32(counts["ab"]<<16 + len(counts)))
}

// search counts words in n KiB.
//
//go:wasmexport search
func search() int32 {
	text := strings.Repeat("the window of a model holds what retrieval found and memory kept\n", size()*16)
	found := 0
	for _, w := range []string{"model", "found and", "kept\nthe", "absent"} {
		found += strings.Count(text, w)
	}
	return answer(uint32(found))
}

func main() {}
