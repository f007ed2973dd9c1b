package filter_test

import (
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/imports"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

// TestUnsentColumnsAreReported reads every column of two rows, and expects one message for each
// column that was not sent, in both lanes and in each call.
func TestUnsentColumnsAreReported(t *testing.T) {
	t.Cleanup(serve.Reset())
	filter.Each(func(it pdk.Item, _ *struct{}) bool {
		_, known := it.MetaString("k")
		return known || it.ID() != "" || it.Text() != "" || it.Source() != "" || it.Score() > 0 || it.Priority() > 0 || it.TokenCount() > 0 || !it.CreatedAt().IsZero() || it.Embedding() != nil
	})
	old := imports.Host
	t.Cleanup(func() { imports.Host = old })
	for _, sent := range []abi.ColumnSet{0, abi.AllColumns, abi.ColumnSet(0).With(abi.ColumnScore).With(abi.ColumnMetadata)} {
		call := pdktest.Call{Op: abi.OpFilter, Reads: append([]string{"none"}, sent.Names()...), Request: &abi.ItemsRequest{Items: []abi.Item{{}, {}}}}
		for _, lane := range []pdktest.Lane{pdktest.JSON, pdktest.Batch, pdktest.Batch} {
			imports.Host = new(imports.Stub)
			if _, err := call.In(lane); err != nil {
				t.Fatal(err)
			}
			var told abi.ColumnSet
			for _, entry := range imports.Host.Logs {
				column, ok := abi.UnsentColumn(entry.Text)
				if !ok || entry.Level != imports.LevelWarn || told.Has(column) {
					t.Errorf("%s with %v: logged %v", lane, sent, entry)
				}
				told = told.With(column)
			}
			if want := abi.AllColumns &^ sent; told != want {
				t.Errorf("%s with %v: told %v, want %v", lane, sent, told, want)
			}
		}
	}
}

// TestUnknownColumnsAreNotReported calls with a document that does not say which columns it has.
func TestUnknownColumnsAreNotReported(t *testing.T) {
	t.Cleanup(serve.Reset())
	filter.Each(func(it pdk.Item, _ *struct{}) bool { return it.Text() == "" })
	old := imports.Host
	t.Cleanup(func() { imports.Host = old })
	imports.Host = &imports.Stub{In: []byte(`{"query": {"query_str": ""}, "items": [{"score": 0.5}]}`)}
	exports, _ := serve.Lookup(abi.OpFilter)
	if status := exports.JSON(); status < 0 || len(imports.Host.Logs) > 0 {
		t.Errorf("status %d, %s, logged %v", status, imports.Host.Err, imports.Host.Logs)
	}
}
