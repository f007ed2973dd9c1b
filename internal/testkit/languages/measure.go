package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

const (
	measuredItems = 1000
	// measuredCalls and measuredTime bound a measurement. It ends at the first of the two.
	measuredCalls = 200
	measuredTime  = 2 * time.Second
)

// vocabulary has the words of texts that resemble a library's documentation. Some of these
// texts contain words of the query.
var vocabulary = strings.Fields(`the a of to and returns sets flag value option
	parser command line argument string error when if not empty each name default
	package function reads writes file list of bytes with without`)

// texts returns items of about 60 words, which are the same in each run.
func texts() []pipeline.Item {
	items := make([]pipeline.Item, measuredItems)
	x := uint32(1)
	for i := range items {
		var words []string
		for range 40 + i%40 {
			x = x*1664525 + 1013904223
			words = append(words, vocabulary[(x>>16)%uint32(len(vocabulary))])
		}
		items[i] = pipeline.Item{
			ID: strconv.Itoa(i), Content: strings.Join(words, " "), Source: pipeline.SourceRetrieval, Score: score, Priority: 5,
		}
	}
	return items
}

// measure returns the median time of a step over 1,000 items.
func measure(ctx context.Context, p *host.Plugin, op abi.Operation) (time.Duration, error) {
	o := steps.Options{TopK: measuredItems}
	if op == abi.OpFilter {
		o.Settings = map[string]any{"keywords": "Flag parser zebra"}
	}
	step, err := steps.New(p, op, o)
	if err != nil {
		return 0, err
	}
	query := &pipeline.Query{Text: "how do I parse command line flags with a default value?"}
	items := texts()
	var took []time.Duration
	for began := time.Now(); len(took) < 5 || len(took) < measuredCalls && time.Since(began) < measuredTime; {
		in := slices.Clone(items)
		start := time.Now()
		if _, err := step.Run(ctx, query, in); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
