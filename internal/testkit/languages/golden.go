package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

// golden is a request with the result that a plugin must give in every language.
type golden struct {
	Name    string            `json:"name"`
	Request *abi.ItemsRequest `json:"request"`
	// Keep are the rows that a filter must keep. Order are the rows that remain after a
	// reranker, sorted and cut, and Scores are their scores; nil means the scores from before.
	Keep   []int     `json:"keep"`
	Order  []int     `json:"order"`
	Scores []float64 `json:"scores"`
}

// score is the score of all items in requests.
const score = 0.5

func readGolden(plugin string) (cases []golden, err error) {
	path := filepath.Join("testdata", "languages", plugin+".json")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		return nil, fmt.Errorf("%s: decode: %w", path, err)
	}
	return cases, nil
}

// check runs a case and compares rows and scores. Scores must be equal in every bit.
func (g *golden) check(ctx context.Context, p *host.Plugin, op abi.Operation) error {
	settings := map[string]any{}
	if err := json.Unmarshal(g.Request.Settings, &settings); err != nil {
		return err
	}
	step, err := steps.New(p, op, steps.Options{Settings: settings, TopK: max(g.Request.TopK, 0)})
	if err != nil {
		return err
	}
	items, err := step.Run(ctx, &pipeline.Query{Text: g.Request.Query.Text}, g.items())
	if err != nil {
		return fmt.Errorf("%s: %w", g.Name, err)
	}
	want := slices.Concat(g.Keep, g.Order)
	got := make([]int, len(items))
	for i, it := range items {
		if got[i], err = strconv.Atoi(it.ID); err != nil {
			return err
		}
		rated := score
		if g.Scores != nil {
			rated = g.Scores[got[i]]
		}
		if it.Score != rated {
			return fmt.Errorf("%s: row %d has the score %v, want %v", g.Name, got[i], it.Score, rated)
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s: rows %v, want %v", g.Name, got, want)
	}
	return nil
}

func (g *golden) items() []pipeline.Item {
	items := make([]pipeline.Item, len(g.Request.Items))
	for i, it := range g.Request.Items {
		items[i] = pipeline.Item{ID: strconv.Itoa(i), Content: it.Content, Source: pipeline.SourceRetrieval, Score: score, Priority: 5}
	}
	return items
}

// checkGolden runs all cases of a plugin.
func checkGolden(ctx context.Context, p *host.Plugin, op abi.Operation, plugin string) error {
	cases, err := readGolden(plugin)
	if err != nil {
		return err
	}
	var errs []error
	for i := range cases {
		errs = append(errs, cases[i].check(ctx, p, op))
	}
	return errors.Join(errs...)
}
