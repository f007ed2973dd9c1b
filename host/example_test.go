package host_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"math"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// An operation of a plugin, called as the contract has it. For a step of a build see package
// host/steps.
func Example() {
	ctx := context.Background()
	h, err := host.New(host.Config{CacheDir: host.CacheOff})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)
	spec, err := spec.ReadFile("../testdata/wasm/add-two/plugin.wasm")
	if err != nil {
		log.Fatal(err)
	}
	plugin, err := h.Load(ctx, spec, host.PluginConfig{Name: "docs"})
	if err != nil {
		log.Fatal(err)
	}
	retrieve, err := plugin.Operation(abi.OpRetrieve, host.OperationOptions{})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := retrieve.Changes(ctx, nil, &abi.Envelope{Query: &abi.Query{Text: "anything"}, TopK: 5})
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Release()
	for i, it := range answer.Changes.Items {
		fmt.Println(it.Content, it.Source, it.Score, it.Priority, answer.Tokens[i])
	}
	// Output:
	// first retrieval 0.9 5 1
	// second retrieval 0.4 5 1
}

// Any function of an Extism module can be called by its name.
func ExamplePlugin_Call() {
	ctx := context.Background()
	h, err := host.New(host.Config{CacheDir: host.CacheOff})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)
	spec, err := spec.ReadFile("../testdata/wasm/foreign/plugin.wasm")
	if err != nil {
		log.Fatal(err)
	}
	plugin, err := h.Load(ctx, spec, host.PluginConfig{})
	if err != nil {
		log.Fatal(err)
	}
	r, err := plugin.Call(ctx, "echo", []byte("hello"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", r.Output)
	// Output: hello
}

// A failed call is one line with the plugin, the operation, the reason and the
// remedy; its reason decides what to do.
func ExamplePluginError() {
	ctx := context.Background()
	h, err := host.New(host.Config{CacheDir: host.CacheOff, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)
	spec, err := spec.ReadFile("../testdata/wasm/kv-ungranted/plugin.wasm")
	if err != nil {
		log.Fatal(err)
	}
	plugin, err := h.Load(ctx, spec, host.PluginConfig{})
	if err != nil {
		log.Fatal(err)
	}
	filter, err := plugin.Operation(abi.OpFilter, host.OperationOptions{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = filter.Changes(ctx, nil, &abi.Envelope{})
	var perr *host.PluginError
	if errors.As(err, &perr) && perr.Code == abi.ReasonDenied {
		fmt.Println(perr)
	}
	// Output: plugin "kv-ungranted": filter: denied: kv is not permitted (its manifest does not ask for it: add it to permissions in plugin.yaml, and grant it with grants.kv)
}

// A function of the embedder, in Go, that a guest imports.
func ExampleNewFunction() {
	ctx := context.Background()
	greet := host.NewFunction(host.UserModule, "greet", func(_ context.Context, in []byte) ([]byte, error) {
		return fmt.Appendf(nil, "hello %s", in), nil
	})
	add := host.Function{
		Module: "calc", Name: "add", Params: []abi.ValueType{abi.F64, abi.F64}, Results: []abi.ValueType{abi.F64},
		Call: func(_ context.Context, _ *host.Guest, s []uint64) error {
			s[0] = math.Float64bits(math.Float64frombits(s[0]) + math.Float64frombits(s[1]))
			return nil
		},
	}
	h, err := host.New(host.Config{Functions: []host.Function{greet, add}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)
	spec, err := spec.ReadFile("../testdata/wasm/user-functions/plugin.wasm")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := h.Load(ctx, spec, host.PluginConfig{Name: "greeter", Grants: host.Grants{Functions: []string{"greet"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := p.Call(ctx, "greet", []byte("world"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", r.Output)
	_, err = p.Call(ctx, "add", nil)
	fmt.Println(err)
	// Output:
	// hello world
	// plugin "greeter": add: denied: function calc.add is not permitted (grant it with grants.functions)
}

// A session: a guest that remembers, for one owner.
func ExamplePlugin_NewSession() {
	ctx := context.Background()
	h, err := host.New(host.Config{CacheDir: host.CacheOff})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)
	spec, err := spec.ReadFile("../testdata/wasm/foreign/plugin.wasm")
	if err != nil {
		log.Fatal(err)
	}
	plugin, err := h.Load(ctx, spec, host.PluginConfig{})
	if err != nil {
		log.Fatal(err)
	}
	session, err := plugin.NewSession(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close(ctx)
	for range 3 { // the guest counts its calls in a variable of Extism
		r, err := session.Call(ctx, "count", nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(r.Output))
	}
	// Output:
	// 1
	// 2
	// 3
}
