// Package beir reads retrieval collections in the form of BEIR and scores
// rankings. It is for the tests of the examples.
package beir

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Record is a line of corpus.jsonl or queries.jsonl.
type Record struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Records reads a file of JSON Lines.
func Records(path string) ([]Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var records []Record
	for dec := json.NewDecoder(bufio.NewReader(f)); ; {
		var r Record
		if err := dec.Decode(&r); err == io.EOF {
			return records, nil
		} else if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		records = append(records, r)
	}
}

// Judgements reads a file of query id, document id and grade with one line of headings. It
// returns the grades by query and document.
func Judgements(path string) (map[string]map[string]float64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	judged := make(map[string]map[string]float64)
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("read %s: line %q has not three fields", path, line)
		}
		grade, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if judged[f[0]] == nil {
			judged[f[0]] = make(map[string]float64)
		}
		judged[f[0]][f[1]] = grade
	}
	return judged, nil
}

// NDCG returns the normalized discounted cumulative gain of the first k documents, computed
// as trec_eval does: with linear gain and log2 discount. It is 0 if there is no relevant
// document.
func NDCG(ranking []string, grades map[string]float64, k int) float64 {
	got := make([]float64, 0, k)
	for _, id := range ranking[:min(len(ranking), k)] {
		got = append(got, grades[id])
	}
	var best []float64
	for _, grade := range grades {
		best = append(best, grade)
	}
	slices.Sort(best)
	slices.Reverse(best)
	ideal := DCG(best, k)
	if ideal == 0 {
		return 0
	}
	return DCG(got, k) / ideal
}

// DCG returns the discounted cumulative gain of the grades of the first k ranks.
func DCG(grades []float64, k int) (sum float64) {
	for i, grade := range grades[:min(len(grades), k)] {
		sum += grade / math.Log2(float64(i+2))
	}
	return sum
}
