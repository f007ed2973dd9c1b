package main

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

//go:embed guests/answers.wasm
var answersWasm []byte

//go:embed guests/answers.yaml
var answersManifest []byte

// answers are the attacks by the answer of a guest: the operation, and a function that
// returns the module.
var answers = []struct {
	name, what string
	op         abi.Operation
	spec       func() (*spec.Spec, error)
}{
	{"dictionary", "one key of 512 KiB for 1,024 rows", abi.OpFilter, func() (*spec.Spec, error) { return dictionary(512<<10, 1024) }},
	{"dictionary-rows", "one key of 4 KiB for 200,000 rows", abi.OpFilter, func() (*spec.Spec, error) { return dictionary(4<<10, 200_000) }},
	{"items", "2.8 million empty items, of which none is granted", abi.OpFilter, answersSpec},
	{"items-granted", "2.8 million empty items", abi.OpRetrieve, answersSpec},
	{"edits", "2.8 million empty edits", abi.OpProcess, answersSpec},
	{"keep", "4.2 million rows to keep", abi.OpRerank, answersSpec},
}

func answersSpec() (*spec.Spec, error) { return spec.Read("answers", answersWasm, answersManifest) }

// dictionary is a filter in the batch lane whose answer has new items that all have the
// same long key.
func dictionary(key, rows int) (*spec.Spec, error) {
	c := &abi.Changes{}
	m := abi.Metadata{strings.Repeat("k", key): nil}
	for range rows {
		c.Items = append(c.Items, abi.NewItem{Content: "x", Metadata: m})
	}
	out, err := abi.AppendChanges(nil, c)
	if err != nil {
		return nil, err
	}
	pages := (65536+len(out))/65536 + 1
	box := abi.AppendMailbox(nil, abi.Mailbox{Size: 24, InAddr: 4096, InCap: 8192, OutAddr: 65536, OutLen: uint32(len(out))})
	exports := [][]byte{append(name("memory"), 2, 0)}
	for i, n := range []string{abi.Marker, abi.MailboxExport, abi.ReserveExport, abi.OpFilter.BatchExport()} {
		exports = append(exports, append(name(n), 0, byte(i)))
	}
	segment := func(at []byte, b []byte) []byte {
		return slices.Concat([]byte{0, 0x41}, at, []byte{0x0b}, u(len(b)), b)
	}
	w := slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(secType, vector(voidType, runType, functionType(1, 1, i32), functionType(2, 1, i32))),
		section(secFunction, []byte{4, 0, 1, 2, 3}),
		section(secMemory, slices.Concat([]byte{1, 0}, u(pages))),
		section(secExport, vector(exports...)),
		section(secCode, vector(body(0, 0), body(0, 0, 0x41, 0x80, 8), ok, ok)),
		section(secData, vector(segment([]byte{0x80, 8}, box), segment([]byte{0x80, 0x80, 4}, out))))
	return spec.Read("dictionary", w, []byte("abi: 1\nname: dictionary\nversion: 0.1.0\noperations: {filter: {reads: [id]}}\n"))
}

// answerAttack runs a build with a plugin whose answer is the attack.
func answerAttack(ctx context.Context, j job) (o outcome, err error) {
	a := answers[j.N]
	spec, err := a.spec()
	if err != nil {
		return o, err
	}
	h, err := newHost(ctx)
	if err != nil {
		return o, err
	}
	p, err := h.Load(ctx, spec, host.PluginConfig{})
	if err != nil {
		return o, err
	}
	build, err := builder(p, a.op)
	if err != nil {
		return o, err
	}
	settle()
	began := time.Now()
	o.Error = fmt.Sprint(build(ctx))
	o.Took = time.Since(began)
	return o, nil
}

// builder returns a function that builds over 20 items with one step of a plugin.
func builder(p *host.Plugin, op abi.Operation) (func(context.Context) error, error) {
	step, err := steps.New(p, op, steps.Options{Step: "step"})
	if err != nil {
		return nil, err
	}
	built, err := pipeline.New(pipeline.Config{
		Tokenizer: pipeline.WordTokenizer(),
		Steps: []pipeline.StepConfig{
			{Name: "items", Step: someItems{}, Priority: 1},
			{Name: "step", Step: step, Priority: 2, OnError: pipeline.Raise},
		},
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_, err := built.Build(ctx, pipeline.Query{Text: "how do I drop near duplicates"})
		return err
	}, nil
}

// someItems is a step that adds 20 items.
type someItems struct{}

// Run implements pipeline.Step.
func (someItems) Run(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	for i := range 20 {
		items = append(items, pipeline.Item{
			ID: fmt.Sprintf("item-%d", i), Content: "a passage of some words about a subject", TokenCount: 8,
			Source: pipeline.SourceRetrieval, Score: 0.9 - float64(i)/40, Priority: 5,
		})
	}
	return items, nil
}
