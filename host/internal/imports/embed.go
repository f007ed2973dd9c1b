package imports

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/ledger"
)

// embed makes a vector of each text of a request, and returns the block of the answer.
func embed(c *guest.Call, s []uint64) {
	p := of(c)
	if p.Granted.Embed == nil {
		panic(missing(c, "service "+manifest.ServiceEmbed, "grants."+manifest.ServiceEmbed))
	}
	name := p.Granted.Embed.Embedder
	doc := requestOf(c, s[0], abi.ImportEmbed)
	q, err := decodeEmbed(doc)
	if err != nil {
		panic(malformed(abi.ImportEmbed, err))
	}
	c.Spend(costTokenByte * int64(len(doc)))
	var answer services.EmbedAnswer
	var v service.Vectors
	if len(q.Texts) > 0 {
		held := &holding{c: c}
		defer held.release()
		v, err = vectorsOf(c, name, &q, held)
		used := ledger.Amount{Calls: 1, Texts: int64(len(q.Texts))}
		if err != nil {
			used.Failed, v.Values = 1, nil
			answer.Failure = failed(c, abi.ImportEmbed, err)
		} else {
			held.grow(4 * int64(len(v.Values)))
			answer.Model, answer.Dimension = v.Model, v.Dimension
		}
		noteUse(c, manifest.ServiceEmbed, name, used)
	}
	c.Record.Served(manifest.ServiceEmbed, q, recordedVectors{answer, v.Values}, len(doc)+4*len(v.Values))
	answer.Vectors = putVectors(c, v.Values)
	s[0] = putDocument(c, abi.ImportEmbed, answer)
}

// vectorsOf asks an embedder within the budget of the plugin. If the embedder says how long its vectors
// are, they count as memory of the plugin before they are made, and the call ends if there is no room.
func vectorsOf(c *guest.Call, name string, q *services.EmbedRequest, held *holding) (v service.Vectors, err error) {
	p, what := of(c), fmt.Sprintf("embedder %q", name)
	limit := ledger.Limit{
		Calls: cmp.Or(p.Granted.Embed.MaxCalls, service.DefaultMaxCalls), Tokens: cmp.Or(p.Granted.Embed.MaxTexts, service.DefaultMaxTexts),
		CallsKey: "its grants.embed.max_calls", TokensKey: "its grants.embed.max_texts", Unit: "texts",
	}
	if err := take(c, fmt.Sprintf("vectors for plugin %q", p.Name), limit, int64(len(q.Texts))); err != nil {
		return v, err
	}
	if sized, ok := p.Services.Embedder.(service.Dimensioned); ok {
		n, err := asked(c, what, func(ctx context.Context) (int, error) { return sized.Dimension(ctx, name) })
		if err != nil {
			return v, err
		}
		held.grow(4 * int64(len(q.Texts)) * int64(min(max(n, 0), abi.MaxDimension)))
	}
	v, err = asked(c, what, func(ctx context.Context) (service.Vectors, error) {
		return p.Services.Embedder.Embed(ctx, name, q.Side, q.Texts)
	})
	if err == nil {
		err = checkVectors(v, len(q.Texts))
	}
	return v, err
}

// holding is memory of the host for the vectors of a call.
type holding struct {
	c     *guest.Call
	bytes int64
	give  []func()
}

// grow counts so many bytes in all. The call ends if there is no room.
func (h *holding) grow(bytes int64) {
	if bytes <= h.bytes {
		return
	}
	give, err := h.c.Instance.Memory.Hold(bytes-h.bytes, "the vectors that it asks for")
	if err != nil {
		h.release()
		panic(err)
	}
	h.bytes, h.give = bytes, append(h.give, give)
}

func (h *holding) release() {
	for _, give := range h.give {
		give()
	}
	h.give = nil
}

func decodeEmbed(doc []byte) (q services.EmbedRequest, err error) {
	var d struct {
		Side  services.Side   `json:"side"`
		Texts json.RawMessage `json:"texts"`
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		return q, err
	}
	switch d.Side {
	case "":
		d.Side = services.SideDocument
	case services.SideDocument, services.SideQuery:
	default:
		return q, fmt.Errorf("side: is %q (want query or document)", d.Side)
	}
	q.Side = d.Side
	if q.Texts, err = list[string](d.Texts, services.MaxEmbedTexts); err != nil {
		return q, fmt.Errorf("texts: %w", err)
	}
	return q, nil
}

// checkVectors holds the answer of an embedder to what it promises.
func checkVectors(v service.Vectors, texts int) error {
	var err error
	switch {
	case v.Dimension < 1 || v.Dimension > abi.MaxDimension:
		err = fmt.Errorf("vectors of %d dimensions (want 1 to %d)", v.Dimension, abi.MaxDimension)
	case len(v.Values) != texts*v.Dimension:
		err = fmt.Errorf("%d numbers for %d vectors of %d dimensions", len(v.Values), texts, v.Dimension)
	case !finite(v.Values):
		err = errors.New("a vector has a number that is not finite")
	default:
		return nil
	}
	return &service.Error{Word: services.Invalid, Message: err.Error(), Err: fmt.Errorf("model %q: %w", v.Model, err)}
}

// putVectors writes vectors into a block, 0 for none.
func putVectors(c *guest.Call, values []float32) uint64 {
	if len(values) == 0 {
		return 0
	}
	size := 4 * int64(len(values))
	c.Spend(size)
	k := c.Instance.Extism.Kernel
	block, err := k.Alloc(c, uint64(size))
	if err != nil {
		panic(err)
	}
	room, ok := k.Bytes(block)
	if block == 0 || !ok {
		panic(guest.Faultf(abi.ReasonMemory, "no room for vectors of %d bytes", size))
	}
	for i, v := range values {
		binary.LittleEndian.PutUint32(room[4*i:], math.Float32bits(v))
	}
	return block
}

// vectorOf reads the vector of a block.
func vectorOf(c *guest.Call, handle uint64, dimension int) ([]float32, error) {
	b, ok := c.Instance.Extism.Kernel.Bytes(handle)
	switch {
	case dimension < 1 || dimension > abi.MaxDimension:
		return nil, fmt.Errorf("dimension: is %d (want 1 to %d)", dimension, abi.MaxDimension)
	case !ok || len(b) != 4*dimension:
		return nil, fmt.Errorf("vector: is no block of %d bytes", 4*dimension)
	}
	c.Spend(int64(len(b)))
	out := make([]float32, dimension)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	if !finite(out) {
		return nil, errors.New("vector: has a number that is not finite")
	}
	return out, nil
}
