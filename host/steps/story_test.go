package steps_test

import (
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// Stories name the plugin and the module of every part of a build that a plugin is.
func TestPartsTellTheirModule(t *testing.T) {
	p := loadAllops(t, host.PluginConfig{Name: "mine"})
	want := explain.ModuleInfo{Plugin: "mine", Module: allopsSpec(t).Digest}
	check := func(name string, part any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if teller, ok := part.(pipeline.ModuleNamer); !ok || teller.Module() != want {
			t.Errorf("%s: %T tells %v, want %+v", name, part, ok, want)
		}
	}
	for _, op := range []abi.Operation{abi.OpRetrieve, abi.OpProcess, abi.OpFilter, abi.OpRerank} {
		step, err := steps.New(p, op, steps.Options{})
		check(string(op), step, err)
	}
	var o steps.Options
	retriever, err := steps.Retriever(p, o)
	check("retriever", retriever, err)
	processor, err := steps.PostProcessor(p, o)
	check("post-processor", processor, err)
	reranker, err := steps.Reranker(p, o)
	check("reranker", reranker, err)
	filter, err := steps.Filter(p, o)
	check("filter", filter, err)
	transformer, err := steps.QueryTransformer(p, o)
	check("query transformer", transformer, err)
	classifier, err := steps.Classifier(p, o)
	check("classifier", classifier, err)
	memory, err := steps.Memory(p, o)
	check("memory", memory, err)
}
