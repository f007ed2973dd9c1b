package doctorcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// retrieverFindings say whether the collections of the retrievers can be searched as the
// configuration says. They change nothing.
func retrieverFindings(ctx context.Context, loaded *config.Loaded) (findings []finding) {
	if len(loaded.Retrievers) == 0 {
		return nil
	}
	list, err := agentstore.Collections(ctx, loaded.StorePath(), loaded.TenantName())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []finding{{"retrievers", statusProblem, err.Error()}}
	}
	for _, name := range slices.Sorted(maps.Keys(loaded.Retrievers)) {
		r := loaded.Retrievers[name]
		i := slices.IndexFunc(list, func(c retrieve.CollectionInfo) bool { return c.Name == r.Collection })
		f := finding{"retriever " + name, statusWarning, fmt.Sprintf("the collection %s of the tenant %s is not there (make it with anchor-host ingest PATH --collection %s)", r.Collection, loaded.TenantName(), r.Collection)}
		if i >= 0 {
			f.Status, f.Detail = searchable(&list[i], r.By != string(retrieve.ByWords) && loaded.Collections[r.Collection].Embedder != "")
		}
		findings = append(findings, f)
	}
	return findings
}

// searchable describes a collection, and says what it lacks.
func searchable(c *retrieve.CollectionInfo, byVectors bool) (status, detail string) {
	detail = fmt.Sprintf("collection %s: %s, %s, %d of them with vectors", c.Name, cli.Count(c.Documents, "document"), cli.Count(c.Chunks, "chunk"), c.Vectors)
	switch {
	case c.Documents == 0:
		return statusWarning, detail + fmt.Sprintf(" (fill it with anchor-host ingest PATH --collection %s)", c.Name)
	case byVectors && c.Vectors == 0:
		return statusWarning, detail + fmt.Sprintf(" (make vectors with anchor-host collections reembed %s)", c.Name)
	}
	return statusOK, detail
}
