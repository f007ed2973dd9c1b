package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/ledger"
)

// defaultHits is the number of hits if a guest asks for no number.
const defaultHits = 10

// search searches a collection of the call's tenant, and returns the block of the answer.
func search(c *guest.Call, s []uint64) {
	p := of(c)
	if p.Granted.Search == nil {
		panic(missing(c, "service "+manifest.ServiceSearch, "grants."+manifest.ServiceSearch))
	}
	doc := requestOf(c, s[0], abi.ImportSearch)
	q, err := decodeSearch(doc)
	if err != nil {
		panic(malformed(abi.ImportSearch, err))
	}
	stated := q.SearchRequest // a record has what the guest asks for: names that it leaves out are those of the grant, which differs in a replay
	q.Collection = granted("collection", "grants.search.collections", q.Collection, p.Granted.Search.Collections)
	if q.SearchRequest.Vector != 0 {
		if q.Vector, err = vectorOf(c, q.SearchRequest.Vector, q.Dimension); err != nil {
			panic(malformed(abi.ImportSearch, err))
		}
		q.SearchRequest.Vector, stated.Vector = 0, 0
	}
	q.Plugin, q.Tenant = p.Name, p.Tenant(c.Context)
	c.Spend(costService * int64(1+q.K/100))
	answer, used := services.SearchAnswer{}, ledger.Amount{Calls: 1}
	limit := ledger.Limit{Calls: cmp.Or(p.Granted.Search.MaxCalls, service.DefaultMaxCalls), CallsKey: "its grants.search.max_calls"}
	var hits []services.SearchHit
	if err = take(c, fmt.Sprintf("searches of plugin %q", p.Name), limit, 0); err == nil {
		hits, err = asked(c, fmt.Sprintf("search in collection %q", q.Collection), func(ctx context.Context) ([]services.SearchHit, error) {
			return p.Services.Searcher.Search(ctx, q)
		})
	}
	if err != nil {
		used.Failed, answer.Failure = 1, failed(c, abi.ImportSearch, err)
	} else {
		answer.Hits = bounded(hits, q.K)
	}
	noteUse(c, manifest.ServiceSearch, q.Collection, used)
	c.Record.Served(manifest.ServiceSearch, recordedSearch{stated, q.Vector}, answer, len(doc)+textsOf(answer.Hits))
	s[0] = putDocument(c, abi.ImportSearch, answer)
}

func decodeSearch(doc []byte) (q service.Search, err error) {
	var d struct {
		services.SearchRequest
		Filter json.RawMessage `json:"filter"`
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		return q, err
	}
	q.SearchRequest = d.SearchRequest
	q.Filter, err = decodeFilter(d.Filter)
	q.K = cmp.Or(q.K, defaultHits)
	byVector := q.By == services.SearchByVectors
	switch {
	case err != nil:
		return q, fmt.Errorf("filter%w", err)
	case !slices.Contains([]services.SearchBy{"", services.SearchByWords, services.SearchByVectors, services.SearchByHybrid}, q.By):
		return q, fmt.Errorf("by: is %q (want words, vectors or hybrid)", q.By)
	case q.K < 1 || q.K > services.MaxHits:
		return q, fmt.Errorf("k: is %d (want 1 to %d)", q.K, services.MaxHits)
	case q.Text == "" && (q.SearchRequest.Vector == 0 || !byVector && q.By != ""):
		return q, errors.New("text: is missing (only a search by vectors with a vector needs none)")
	}
	return q, nil
}

func decodeFilter(raw json.RawMessage) ([]services.Condition, error) {
	type condition struct {
		Field  string          `json:"field"`
		Op     string          `json:"op"`
		Values json.RawMessage `json:"values"`
	}
	stated, err := list[condition](raw, services.MaxConditions)
	if err != nil {
		return nil, fmt.Errorf(": %w", err)
	}
	var out []services.Condition
	for i, s := range stated {
		values, err := list[string](s.Values, services.MaxConditions)
		one := slices.Contains([]string{">=", "<=", ">", "<"}, s.Op)
		switch {
		case err != nil:
			return nil, fmt.Errorf("[%d].values: %w", i, err)
		case s.Field == "":
			return nil, fmt.Errorf("[%d].field: is missing", i)
		case !one && !slices.Contains([]string{"=", "!=", "prefix"}, s.Op):
			return nil, fmt.Errorf("[%d].op: is %q (want =, !=, prefix, >=, <=, > or <)", i, s.Op)
		case len(values) == 0 || one && len(values) > 1:
			return nil, fmt.Errorf("[%d].values: has %d values (want one or more, and one for >=, <=, > and <)", i, len(values))
		}
		out = append(out, services.Condition{Field: s.Field, Op: s.Op, Values: values})
	}
	return out, nil
}

// bounded returns the best hits, at most k, whose texts are within the bound. Scores are made 0 to
// 1.
func bounded(hits []services.SearchHit, k int) []services.SearchHit {
	hits = slices.Clone(hits[:min(k, len(hits))])
	left := maxAnswer
	for i := range hits {
		h := &hits[i]
		if !(h.Score > 0) { // not a number neither
			h.Score = 0
		}
		h.Score = min(h.Score, 1)
		left -= len(h.Document) + len(h.Text) + len(h.Title) + len(h.Path)
		for _, heading := range h.Headings {
			left -= len(heading)
		}
		for key, value := range h.Metadata {
			left -= len(key) + len(value)
		}
		if left < 0 {
			return hits[:i]
		}
	}
	return hits
}
