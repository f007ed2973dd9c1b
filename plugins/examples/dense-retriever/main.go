// Command dense-retriever is a plugin that finds documents by their meaning.
package main

import (
	"os"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/static"
	"github.com/anchor-host/anchor-host/plugins/examples/dense-retriever/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/retrieve"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/setup"
)

// retriever has the table and the vectors. The host keeps the memory as init leaves it, restores it
// for every call, and shares it among the instances of the plugin.
var retriever *plugin.Retriever

func init() {
	setup.Handle(func(s *plugin.Settings) error {
		for _, path := range []string{s.Path, s.Table, s.Tokenizer} {
			if _, err := os.Stat(path); err != nil {
				return pdk.Errorf("%s: not there (mount the folder with grants: {files: [{host: …, guest: …, mode: ro}]})", path)
			}
		}
		e, err := static.Open(static.Options{Table: s.Table, Tokenizer: s.Tokenizer})
		if err != nil {
			return err
		}
		if retriever, err = plugin.Open(os.DirFS(s.Path), e, s); err != nil {
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
		return retriever.Retrieve(r.Items.QueryText(), r.TopK)
	})
}

func main() {}
