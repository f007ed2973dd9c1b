// Command bm25-retriever is a plugin that finds documents by their words.
package main

import (
	"os"

	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/retrieve"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/setup"
)

// retriever has the index. The host keeps the memory as init leaves it and restores it for
// every call.
var retriever *plugin.Retriever

func init() {
	setup.Handle(func(s *plugin.Settings) (err error) {
		if _, err := os.Stat(s.Path); err != nil {
			return pdk.Errorf("index %s: no such folder (mount one: grants: {files: [{host: ./docs, guest: %s, mode: ro}]})", s.Path, s.Path)
		}
		if retriever, err = plugin.Open(os.DirFS(s.Path), s); err != nil {
			return err
		}
		stats, level := retriever.Stats(), pdk.LevelInfo
		if stats.Documents == 0 {
			level = pdk.LevelWarn
		}
		pdk.Logf(level, "index %s: %d documents from %d files, %d bytes", s.Path, stats.Documents, stats.Files, stats.Bytes)
		return nil
	})
	retrieve.Handle(func(r *pdk.Request, _ *struct{}) ([]pdk.NewItem, error) {
		if retriever == nil {
			return nil, pdk.Errorf("no index: init has not run")
		}
		return retriever.Retrieve(r.Items.QueryText(), r.TopK), nil
	})
}

func main() {}
