package pipeline

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// plainPart implements every part that a step of this package may have, and no optional interface.
type plainPart struct{}

func (plainPart) Run(_ context.Context, _ *Query, items []Item) ([]Item, error) { return items, nil }
func (plainPart) Retrieve(context.Context, *Query, int) ([]Item, error)         { return nil, nil }
func (plainPart) Process(_ context.Context, _ *Query, items []Item) ([]Item, error) {
	return items, nil
}
func (plainPart) Filter(_ context.Context, _ *Query, items []Item) ([]bool, error) {
	return make([]bool, len(items)), nil
}
func (plainPart) Rerank(_ context.Context, _ *Query, items []Item, _ int) ([]Item, error) {
	return items, nil
}
func (plainPart) TransformQuery(_ context.Context, q *Query) ([]Query, error) {
	return []Query{*q}, nil
}
func (plainPart) Classify(context.Context, *Query) (string, error) { return "", nil }

// richPart is a part that implements every optional interface.
type richPart struct{ plainPart }

func (richPart) Isolated() {}

func (richPart) Module() explain.ModuleInfo { return explain.ModuleInfo{Plugin: "p", Module: "m"} }

// part is the interface of both.
type part interface {
	Step
	Retriever
	PostProcessor
	Filter
	Reranker
	QueryTransformer
	QueryClassifier
}

// wrappers are the steps of this package around parts, by their types, and the access of
// the step when its parts are not isolated.
var wrappers = map[string]struct {
	wrap     func(p part) Step
	appender bool
	access   access
}{
	"retrieverStep":     {func(p part) Step { return RetrieverStep(p, 1) }, true, adaptedAccess},
	"postProcessorStep": {func(p part) Step { return PostProcessorStep(p) }, false, foreignAccess},
	"filterStep":        {func(p part) Step { return FilterStep(p) }, false, foreignAccess},
	"rerankerStep":      {func(p part) Step { return RerankerStep(p, 1) }, false, foreignAccess},
	"transformStep":     {func(p part) Step { return QueryTransformStep(p, p, 1) }, false, adaptedAccess},
	"classifiedStep":    {func(p part) Step { return ClassifiedStep(p, map[string]Retriever{"a": p}, "a", 1) }, true, adaptedAccess},
	"scopedStep":        {func(p part) Step { return Scope(p, SourceRetrieval) }, false, foreignAccess},
}

// Every wrapper passes on the optional interfaces of its parts, and has no others.
func TestWrappersHonourOptionalInterfaces(t *testing.T) {
	for name, w := range wrappers {
		rich, plain := w.wrap(richPart{}), w.wrap(plainPart{})
		if got := strings.TrimPrefix(fmt.Sprintf("%T", rich), "*pipeline."); got != name {
			t.Errorf("%s: type %s", name, got)
		}
		if got := accessOf(rich); got != isolatedAccess {
			t.Errorf("%s around isolated parts: access %d, want %d", name, got, isolatedAccess)
		}
		if got := accessOf(plain); got != w.access {
			t.Errorf("%s: access %d, want %d", name, got, w.access)
		}
		if got, want := moduleOf(rich), (richPart{}).Module(); got != want {
			t.Errorf("%s: module %+v, want %+v", name, got, want)
		}
		if got := moduleOf(plain); got != (explain.ModuleInfo{}) {
			t.Errorf("%s: module %+v of parts that name none", name, got)
		}
		if _, ok := plain.(Appender); ok != w.appender {
			t.Errorf("%s: appender %v, want %v", name, ok, w.appender)
		}
	}
}

// The table of wrappers has every type of the package that has parts.
func TestWrappersAreAllKnown(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			m, ok := d.(*ast.FuncDecl)
			if !ok || m.Recv == nil || m.Name.Name != "parts" {
				continue
			}
			found++
			name := strings.TrimPrefix(fmt.Sprint(m.Recv.List[0].Type.(*ast.StarExpr).X), "*")
			if _, ok := wrappers[name]; !ok {
				t.Errorf("%s has parts and is not tried", name)
			}
		}
	}
	if found != len(wrappers) {
		t.Errorf("%d types have parts, want %d", found, len(wrappers))
	}
}
