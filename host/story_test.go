package host_test

import (
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Stories name the plugin and the module of every part of a build that a plugin is.
func TestPartsTellTheirModule(t *testing.T) {
	p := loadAllops(t, newHost(t, host.Config{}), host.PluginConfig{Name: "mine"})
	want := pipeline.ModuleInfo{Plugin: "mine", Module: allopsSpec(t).Digest}
	check := func(name string, part any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if teller, ok := part.(pipeline.ModuleTeller); !ok || teller.Module() != want {
			t.Errorf("%s: %T tells %v, want %+v", name, part, ok, want)
		}
	}
	for _, op := range []abi.Operation{abi.OpRetrieve, abi.OpProcess, abi.OpFilter, abi.OpRerank} {
		step, err := p.Step(op, host.StepOptions{})
		check(string(op), step, err)
	}
	var o host.StepOptions
	retriever, err := p.Retriever(o)
	check("retriever", retriever, err)
	processor, err := p.PostProcessor(o)
	check("post-processor", processor, err)
	reranker, err := p.Reranker(o)
	check("reranker", reranker, err)
	filter, err := p.Filter(o)
	check("filter", filter, err)
	transformer, err := p.QueryTransformer(o)
	check("query transformer", transformer, err)
	classifier, err := p.Classifier(o)
	check("classifier", classifier, err)
	memory, err := p.MemoryProvider(o)
	check("memory", memory, err)
}
