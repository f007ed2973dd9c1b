package pdk_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/services"
)

// kernel is as much of a host as a guest of the SDK needs: Extism's functions
// on a memory of its own, and the host services. Blocks are never reused.
type kernel struct {
	mem       []byte
	blocks    map[uint64]uint64
	in        []byte
	out, err  string
	config    map[string]string
	kv        map[string]string
	logs      []string
	requested string
	kvStatus  uint32
}

// newKernel returns a kernel whose first block is not at 0, which is no handle.
func newKernel() *kernel {
	return &kernel{mem: make([]byte, 8), blocks: map[uint64]uint64{}, kv: map[string]string{}}
}

// reset forgets the blocks of the last call.
func (k *kernel) reset(in []byte) {
	k.mem, k.in, k.out, k.err = k.mem[:8], in, "", ""
	clear(k.blocks)
}

func (k *kernel) alloc(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	at := uint64(len(k.mem))
	k.mem = append(k.mem, make([]byte, (n+15)&^7)...)
	k.blocks[at] = n
	return at
}

func (k *kernel) store(s string) uint64 {
	at := k.alloc(uint64(len(s)))
	copy(k.mem[at:], s)
	return at
}

func (k *kernel) load(at uint64) string { return string(k.mem[at : at+k.blocks[at]]) }

// http answers with the request in upper case.
func (k *kernel) http(req, body uint64) uint64 {
	var meta struct{ URL, Method string }
	if err := json.Unmarshal([]byte(k.load(req)), &meta); err != nil {
		panic(err)
	}
	if meta.Method != "POST" || meta.URL != "https://example.com/" {
		panic(meta)
	}
	return k.store(strings.ToUpper(k.load(body)))
}

// batch answers with the requests in upper case; the last one has no answer.
func (k *kernel) batch(req uint64) uint64 {
	var d struct{ Requests []struct{ Body uint64 } }
	if err := json.Unmarshal([]byte(k.load(req)), &d); err != nil {
		panic(err)
	}
	k.requested = k.load(req)
	var answers []map[string]any
	for _, r := range d.Requests {
		answers = append(answers, map[string]any{"status": 201, "headers": map[string]string{"x": "y"}, "body": k.store(strings.ToUpper(k.load(r.Body)))})
	}
	answers[len(answers)-1] = map[string]any{"status": 0, "error": "timeout"}
	b, err := json.Marshal(map[string]any{"responses": answers})
	if err != nil {
		panic(err)
	}
	return k.store(string(b))
}

func (k *kernel) kvGet(key uint64) uint64 { return k.store(k.kv[k.load(key)]) }

func (k *kernel) kvSet(key, value uint64) uint32 {
	if k.kvStatus != 0 {
		return k.kvStatus
	}
	delete(k.kv, k.load(key))
	if value != 0 {
		k.kv[k.load(key)] = k.load(value)
	}
	return 0
}

// embed answers with the length of each text and its half.
func (k *kernel) embed(req uint64) uint64 {
	var q services.EmbedRequest
	if err := json.Unmarshal([]byte(k.load(req)), &q); err != nil {
		panic(err)
	}
	var b []byte
	for _, text := range q.Texts {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(len(text))))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(len(text))/2))
	}
	doc, _ := json.Marshal(services.EmbedAnswer{Model: string(q.Side), Dimension: 2, Vectors: k.store(string(b))}) // plain data
	return k.store(string(doc))
}

// search answers with the bytes of the vector in hex.
func (k *kernel) search(req uint64) uint64 {
	var q services.SearchRequest
	if err := json.Unmarshal([]byte(k.load(req)), &q); err != nil {
		panic(err)
	}
	return k.store(fmt.Sprintf(`{"hits":[{"document":"%s %d %x","chunk":1,"score":1,"text":"t"}]}`, q.Text, q.Dimension, k.load(q.Vector)))
}

// llm answers the first request, and refuses all others.
func (k *kernel) llm(req uint64) uint64 {
	var q services.LLMRequests
	if err := json.Unmarshal([]byte(k.load(req)), &q); err != nil {
		panic(err)
	}
	var a services.LLMAnswers
	for i, r := range q.Requests {
		if a.Responses = append(a.Responses, services.LLMAnswer{Text: r.Messages[0].Content, JSON: r.Schema}); i > 0 {
			a.Responses[i] = services.LLMAnswer{Failure: services.Failure{Error: services.Refused, Message: "no"}}
		}
	}
	doc, _ := json.Marshal(a) // plain data
	return k.store(string(doc))
}

// functions are the imports by name. Their types are those of abi.Imports.
func (k *kernel) functions() map[string]func(s []uint64) {
	le := binary.LittleEndian
	fs := map[string]func(s []uint64){
		"alloc":          func(s []uint64) { s[0] = k.alloc(s[0]) },
		"free":           func([]uint64) {},
		"length":         func(s []uint64) { s[0] = k.blocks[s[0]] },
		"length_unsafe":  func(s []uint64) { s[0] = k.blocks[s[0]] },
		"load_u8":        func(s []uint64) { s[0] = uint64(k.mem[s[0]]) },
		"load_u64":       func(s []uint64) { s[0] = le.Uint64(k.mem[s[0]:]) },
		"store_u8":       func(s []uint64) { k.mem[s[0]] = byte(s[1]) },
		"store_u64":      func(s []uint64) { le.PutUint64(k.mem[s[0]:], s[1]) },
		"input_length":   func(s []uint64) { s[0] = uint64(len(k.in)) },
		"input_load_u8":  func(s []uint64) { s[0] = uint64(k.in[s[0]]) },
		"input_load_u64": func(s []uint64) { s[0] = le.Uint64(k.in[s[0]:]) },
		"output_set":     func(s []uint64) { k.out = string(k.mem[s[0] : s[0]+s[1]]) },
		"error_set":      func(s []uint64) { k.err = k.load(s[0]) },
		"config_get":     func(s []uint64) { s[0] = k.store(k.config[k.load(s[0])]) },
		"http_request":   func(s []uint64) { s[0] = k.http(s[0], s[1]) },
		"http_status_code": func(s []uint64) {
			s[0] = 200
		},
		"http_headers":        func(s []uint64) { s[0] = k.store(`{"x":"y"}`) },
		"get_log_level":       func(s []uint64) { s[0] = 0 },
		abi.ImportHTTPBatch:   func(s []uint64) { s[0] = k.batch(s[0]) },
		abi.ImportEmbed:       func(s []uint64) { s[0] = k.embed(s[0]) },
		abi.ImportSearch:      func(s []uint64) { s[0] = k.search(s[0]) },
		abi.ImportLLM:         func(s []uint64) { s[0] = k.llm(s[0]) },
		abi.ImportKVGet:       func(s []uint64) { s[0] = k.kvGet(s[0]) },
		abi.ImportKVSet:       func(s []uint64) { s[0] = uint64(k.kvSet(s[0], s[1])) },
		abi.ImportCountTokens: func(s []uint64) { s[0] = uint64(len(strings.Fields(k.load(s[0])))) },
	}
	for _, level := range []string{"trace", "debug", "info", "warn", "error"} {
		fs["log_"+level] = func(s []uint64) { k.logs = append(k.logs, level+": "+k.load(s[0])) }
	}
	return fs
}

// instantiate offers the kernel to the guests of rt, every import that the
// contract has; those left out of functions trap.
func (k *kernel) instantiate(ctx context.Context, tb testing.TB, rt wazero.Runtime) {
	tb.Helper()
	fs := k.functions()
	for _, module := range []string{abi.EnvModule, abi.UserModule} {
		b := rt.NewHostModuleBuilder(module)
		for _, sig := range abi.Imports {
			if sig.Module != module {
				continue
			}
			f := fs[sig.Name]
			if f == nil {
				f = func([]uint64) { panic(sig.Name + " is not part of this kernel") }
			}
			b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) { f(s) }),
				types(sig.Params), types(sig.Results)).Export(sig.Name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			tb.Fatal(err)
		}
	}
}

func types(ts []abi.ValueType) []api.ValueType {
	out := make([]api.ValueType, len(ts))
	for i, t := range ts {
		out[i] = api.ValueType(t)
	}
	return out
}
