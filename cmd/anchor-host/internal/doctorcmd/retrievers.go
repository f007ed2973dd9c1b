package doctorcmd

import (
	"cmp"
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

// maxTenants bounds the lines of a retriever.
const maxTenants = 20

// retrieverFindings say whether the collections of the retrievers can be searched as the configuration says,
// by the tenants that may ask, and if others is set, by the others of the store that have such a collection.
// They change nothing.
func retrieverFindings(ctx context.Context, loaded *config.Loaded, tenants []string, others bool) (findings []finding) {
	if len(loaded.Retrievers) == 0 {
		return nil
	}
	lists, err := agentstore.Collections(ctx, loaded.StorePath(), append(owners(loaded), tenants...), others)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []finding{{"retrievers", statusProblem, err.Error()}}
	}
	all := append(slices.Collect(maps.Keys(lists)), tenants...)
	slices.Sort(all)
	all = slices.Compact(all)
	for _, name := range slices.Sorted(maps.Keys(loaded.Retrievers)) {
		var lines []finding
		for _, tenant := range all {
			f, there := retrieverFinding(loaded, name, tenant, lists)
			if (there && others || slices.Contains(tenants, tenant)) && !slices.Contains(lines, f) {
				lines = append(lines, f)
			}
		}
		slices.SortStableFunc(lines, func(a, b finding) int { return cmp.Compare(rank(a), rank(b)) })
		if more := len(lines) - maxTenants; more > 0 {
			rest := finding{"retriever " + name, lines[maxTenants].Status, fmt.Sprintf("the same for %s (--tenant NAME shows one)", cli.Count(more, "other tenant"))}
			lines = append(lines[:maxTenants], rest)
		}
		findings = append(findings, lines...)
	}
	return findings
}

// rank sorts problems and warnings before what is fine.
func rank(f finding) int {
	return slices.Index([]string{statusProblem, statusWarning, statusOK}, f.Status)
}

// retrieverFinding says whether a tenant can search the collection of a retriever, and whether it has it.
func retrieverFinding(loaded *config.Loaded, name, tenant string, lists map[string][]agentstore.Listed) (f finding, there bool) {
	r := loaded.Retrievers[name]
	owner := loaded.OwnerOf(tenant, r.Collection)
	list := lists[owner]
	i := slices.IndexFunc(list, func(c agentstore.Listed) bool { return c.Name == r.Collection })
	if i < 0 {
		return finding{"retriever " + name, statusWarning, fmt.Sprintf("the collection %s of the tenant %s is not there (make it with anchor-host ingest PATH --collection %s --tenant %s)", r.Collection, owner, r.Collection, owner)}, false
	}
	f = finding{Check: "retriever " + name}
	embedder, stated := loaded.EmbedderOf(r.Collection)
	f.Status, f.Detail = searchable(&list[i], owner, r.By != string(retrieve.ByWords) && embedder != "" && (stated || r.By != ""))
	f.Detail = "tenant " + tenant + ", " + f.Detail
	if owner == tenant {
		return f, true
	}
	f.Detail += ", shared by tenant " + owner
	if slices.ContainsFunc(lists[tenant], func(c agentstore.Listed) bool { return c.Name == r.Collection }) {
		if f.Status == statusOK {
			f.Status = statusWarning
		}
		f.Detail += fmt.Sprintf("; the tenant has a collection of its own of that name, which nothing reads (anchor-host collections remove %s --tenant %s)", r.Collection, tenant)
	}
	return f, true
}

// owners are the tenants that share collections.
func owners(loaded *config.Loaded) (list []string) {
	for name := range loaded.Collections {
		if c := loaded.Collections[name]; len(c.Shared) > 0 {
			list = append(list, c.Owner)
		}
	}
	return list
}

// searchable describes a collection, and says what it lacks.
func searchable(c *agentstore.Listed, owner string, byVectors bool) (status, detail string) {
	detail = fmt.Sprintf("collection %s: %s, %s, %d of them with vectors", c.Name, cli.Count(c.Documents, "document"), cli.Count(c.Chunks, "chunk"), c.Vectors)
	switch {
	case c.Unusable != nil:
		return statusProblem, c.Unusable.Error()
	case c.Documents == 0:
		return statusWarning, detail + fmt.Sprintf(" (fill it with anchor-host ingest PATH --collection %s --tenant %s)", c.Name, owner)
	case byVectors && c.Vectors == 0:
		return statusWarning, detail + fmt.Sprintf(" (make vectors with anchor-host collections reembed %s --tenant %s)", c.Name, owner)
	}
	return statusOK, detail
}
