// Command goguest is a guest in stock Go for the tests and benchmarks of metering. It has a
// few workloads whose result is a checksum.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"
)

var data = bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog. "), 1<<20/45+1)[:1<<20]

// fnvSum hashes n bytes, the tightest loop of the set.
//
//go:wasmexport fnv_sum
func fnvSum(n int32) int64 {
	h := fnv.New64a()
	h.Write(data[:n])
	return int64(h.Sum64())
}

// shaSum hashes n bytes with SHA-256.
//
//go:wasmexport sha_sum
func shaSum(n int32) int64 {
	sum := sha256.Sum256(data[:n])
	return int64(sum[0]) | int64(sum[1])<<8 | int64(sum[31])<<16
}

// sortFloats sorts n pseudo-random numbers.
//
//go:wasmexport sort_floats
func sortFloats(n int32) int64 {
	xs := make([]float64, n)
	x := uint64(88172645463325252)
	for i := range xs {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		xs[i] = float64(x >> 11)
	}
	slices.Sort(xs)
	return int64(xs[n/2])
}

type item struct {
	ID    string            `json:"id"`
	Text  string            `json:"text"`
	Score float64           `json:"score"`
	Meta  map[string]string `json:"meta"`
}

// jsonTrip encodes and decodes n items.
//
//go:wasmexport json_trip
func jsonTrip(n int32) int64 {
	items := make([]item, n)
	for i := range items {
		items[i] = item{ID: "doc-1", Text: string(data[i*40 : i*40+500]), Score: float64(i) / 1000, Meta: map[string]string{"a": "b", "c": "d"}}
	}
	b, err := json.Marshal(items)
	if err != nil {
		return -1
	}
	var back []item
	if err := json.Unmarshal(b, &back); err != nil {
		return -2
	}
	return int64(len(b)) + int64(len(back))
}

// countWords counts words in n bytes.
//
//go:wasmexport count_words
func countWords(n int32) int64 {
	s := string(data[:n])
	return int64(len(strings.Fields(s)) + strings.Count(s, "fox"))
}

// fib is naive, for calls.
//
//go:wasmexport fib
func fib(n int32) int64 {
	if n < 2 {
		return int64(n)
	}
	return fib(n-1) + fib(n-2)
}

// spin never returns.
//
//go:wasmexport spin
func spin() {
	for i := 0; ; i++ {
		data[i%len(data)]++
	}
}

func main() {}
