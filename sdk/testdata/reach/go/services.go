package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
)

// rate rates items by their vectors.
func rate(r *pdk.Request, _ *struct{}, scores []float64) error {
	query := r.Items.QueryEmbedding()
	for i := range scores {
		v := r.Items.Embedding(i)
		if v == nil {
			scores[i] = 0.25
			continue
		}
		for k := range v {
			scores[i] += float64(query[k] * v[k])
		}
	}
	return nil
}

// served labels a question by what the services answer.
func served(question string) (string, error) {
	if none, err := pdk.Embed("", nil); err != nil || len(none.Vectors) > 0 {
		return "", pdk.Errorf("vectors of no texts: %v", err)
	}
	v, err := pdk.Embed(pdk.SideQuery, []string{question, ""})
	if err != nil {
		return "", err
	}
	hits, err := found(question, v.Vectors[0])
	if err != nil {
		return "", err
	}
	answers, err := answers(question)
	return fmt.Sprintf("%s %d %v %v %s %s", v.Model, v.Dimension, 4*v.Vectors[0][0], 4*v.Vectors[1][1], hits, answers), err
}

func found(question string, vector []float32) (string, error) {
	hits, err := pdk.Search(pdk.SearchQuery{Collection: "docs", Text: question, Vector: vector, By: pdk.SearchByHybrid, K: 2,
		Filter: []pdk.Condition{{Field: "path", Op: "prefix", Values: []string{"a/", `b"`}}}})
	if err != nil {
		return "", err
	}
	var gone *pdk.ServiceError
	if _, err := pdk.Search(pdk.SearchQuery{Collection: "gone", Text: question}); !errors.As(err, &gone) || gone.Word != pdk.ServiceNotFound {
		return "", pdk.Errorf("a collection that is gone: %v", err)
	}
	bare, err := pdk.Search(pdk.SearchQuery{Text: question})
	h := hits[0]
	return fmt.Sprintf("%s %s %s %s %d %v %d %d %d %s %s %s %d %s %d", h.Text, h.Document, h.Title, h.Path, h.Chunk, 4*h.Score, h.Page,
		h.LineFrom, h.LineTo, strings.Join(h.Headings, " "), h.Metadata["k"], hits[1].Document, hits[1].Page, gone.Message, len(bare)), err
}

func answers(question string) (string, error) {
	var cold float64
	talk := []pdk.LLMMessage{{Role: pdk.LLMSystem, Content: "Be brief.\n"}, {Role: pdk.LLMUser, Content: question}, {Role: pdk.LLMAssistant}}
	strict := pdk.LLMRequest{Model: "small", Messages: talk, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`), MaxTokens: 50, Temperature: &cold}
	both, err := pdk.LLM(strict, pdk.LLMRequest{Messages: []pdk.LLMMessage{{Role: pdk.LLMUser, Content: "spend"}}})
	if err != nil {
		return "", err
	}
	var spent *pdk.ServiceError
	if !errors.As(both[1].Err, &spent) || spent.Word != pdk.ServiceBudget {
		return "", pdk.Errorf("a budget that is spent: %v", both[1].Err)
	}
	var one struct{ N int }
	if err := json.Unmarshal(both[0].JSON, &one); err != nil {
		return "", err
	}
	strict.MaxTokens, strict.Temperature = 0, nil
	rest, err := pdk.LLM(pdk.LLMRequest{Messages: talk[1:2]}, strict)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %s %s %d %d %s %s %s ", one.N, both[0].Model, both[0].Finish, both[0].InputTokens, both[0].OutputTokens,
		spent.Message, rest[0].Text, rest[1].Text), nil
}
