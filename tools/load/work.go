package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ownItems is how many items a request has. The retriever of the configuration finds ten more.
const ownItems = 40

// paragraphs returns different texts of the documentation, long ones first come first.
func paragraphs(root string, n int) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for text := range strings.SplitSeq(string(data), "\n\n") {
			if text = strings.TrimSpace(text); len(text) >= 200 && len(text) <= 1500 {
				texts = append(texts, text)
			}
		}
	}
	if len(texts) < n {
		return nil, fmt.Errorf("%s has %d paragraphs of 200 to 1500 bytes, want %d", filepath.Join(root, "docs"), len(texts), n)
	}
	return texts[:n], nil
}

// buildRequests returns requests for builds with 50 items: 40 of the client, and 10 that the retriever
// finds.
func buildRequests(root string) ([][]byte, error) {
	texts, err := paragraphs(root, ownItems)
	if err != nil {
		return nil, err
	}
	items := make([]map[string]any, len(texts))
	for i, text := range texts {
		items[i] = map[string]any{
			"id": fmt.Sprintf("doc-%d", i), "content": text, "source": "retrieval", "score": float64(100-i) / 100,
			"metadata": map[string]any{"path": fmt.Sprintf("docs/%d.md", i), "line": i},
		}
	}
	var requests [][]byte
	for _, query := range []string{"how do deadlines work", "which limits has a plugin", "what does a reload change", "where are the records of builds", "how are facts found"} {
		data, err := json.Marshal(map[string]any{"query": query, "pipeline": "docs", "items": items})
		if err != nil {
			return nil, err
		}
		requests = append(requests, data)
	}
	return requests, nil
}
