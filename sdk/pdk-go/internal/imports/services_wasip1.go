package imports

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"

	"github.com/anchor-host/anchor-host/abi/services"
)

//go:wasmimport extism:host/user anchor_embed
func hostEmbed(request uint64) uint64

//go:wasmimport extism:host/user anchor_search
func hostSearch(request uint64) uint64

//go:wasmimport extism:host/user anchor_llm
func hostLLM(request uint64) uint64

// Embed makes vectors of texts, one after another in one list.
func Embed(q services.EmbedRequest) (a services.EmbedAnswer, vectors []float32, err error) {
	if err := json.Unmarshal(unblock(hostEmbed(document(q))), &a); err != nil {
		return a, nil, err
	}
	b := unblock(a.Vectors)
	if len(b)%4 != 0 {
		return a, nil, errors.New("the vectors are no numbers in 32 bits")
	}
	vectors = make([]float32, len(b)/4)
	for i := range vectors {
		vectors[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return a, vectors, nil
}

// Search searches a collection.
func Search(q services.SearchRequest, vector []float32) (a services.SearchAnswer, err error) {
	b := make([]byte, 0, 4*len(vector))
	for _, v := range vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	q.Vector, q.Dimension = block(b), len(vector)
	err = json.Unmarshal(unblock(hostSearch(document(q))), &a)
	return a, err
}

// LLM asks models.
func LLM(q services.LLMRequests) (a services.LLMAnswers, err error) {
	err = json.Unmarshal(unblock(hostLLM(document(q))), &a)
	return a, err
}
