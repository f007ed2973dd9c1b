// Command field-reranker is a plugin that rates items by their titles, their words, the
// distances between these, and runs of characters.
package main

import (
	"os"

	"github.com/anchor-host/anchor-host/plugins/examples/field-reranker/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/rerank"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/setup"
)

// reranker has the statistics. The host keeps the memory as init leaves it and restores it
// for every call.
var reranker *plugin.Reranker

func init() {
	setup.Handle(func(s *plugin.Settings) (err error) {
		if s.Statistics == plugin.FromItems {
			reranker, err = plugin.New(s)
			return err
		}
		if _, err := os.Stat(s.Path); err != nil {
			return pdk.Errorf("count words of %s: no such folder (mount that of the retriever: grants: {files: [{host: ./docs, guest: %s, mode: ro}]}, or set statistics: items)", s.Path, s.Path)
		}
		if reranker, err = plugin.Open(os.DirFS(s.Path), s); err != nil {
			return err
		}
		if reranker.Documents() == 0 {
			reranker = nil // by nothing every word is equally rare, and every rating wrong
			return pdk.Errorf("count words of %s: no document found (mount the folder of the retriever there, look at include and exclude, or set statistics: items)", s.Path)
		}
		pdk.Logf(pdk.LevelInfo, "count words of %s: %d documents", s.Path, reranker.Documents())
		return nil
	})
	rerank.Scores(func(r *pdk.Request, _ *struct{}, scores []float64) error {
		if reranker == nil {
			return pdk.Errorf("no statistics: init has not run")
		}
		reranker.Rerank(r.Items.QueryText(), r.Items, scores)
		return nil
	})
}

func main() {}
