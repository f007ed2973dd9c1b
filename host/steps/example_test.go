package steps_test

import (
	"context"
	"fmt"
	"log"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

// A plugin as one step of a build.
func Example() {
	ctx := context.Background()
	h, err := host.New(host.Config{CacheDir: host.CacheOff, Tokenizer: pipeline.WordTokenizer()})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)
	spec, err := spec.ReadFile("../../testdata/wasm/add-two/plugin.wasm")
	if err != nil {
		log.Fatal(err)
	}
	plugin, err := h.Load(ctx, spec, host.PluginConfig{Name: "docs"})
	if err != nil {
		log.Fatal(err)
	}
	step, err := steps.New(plugin, abi.OpRetrieve, steps.Options{Step: "docs", TopK: 5})
	if err != nil {
		log.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Config{
		Tokenizer: pipeline.WordTokenizer(),
		Steps:     []pipeline.StepConfig{{Name: "docs", Step: step}},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := p.Build(ctx, pipeline.Query{Text: "anything"})
	if err != nil {
		log.Fatal(err)
	}
	for _, it := range result.Window.Items {
		fmt.Println(it.ID, it.Content, it.Score)
	}
	// Output:
	// docs:a7937b64b8caa58f first 0.9
	// docs:16367aacb67a4a01 second 0.4
}
