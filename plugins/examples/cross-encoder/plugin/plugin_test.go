package plugin

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

func settings(change func(*Settings)) *Settings {
	s := new(Settings)
	s.Defaults()
	if change != nil {
		change(s)
	}
	return s
}

func TestBody(t *testing.T) {
	rows := abi.ItemRows{{Content: "bb"}, {Content: ""}, {Content: "a" + strings.Repeat("é", 100)}}
	for api, want := range map[string]string{
		Jina:   `{"documents":["a` + strings.Repeat("é", 49) + `"," "],"model":"m","query":"q","top_n":2}`,
		Voyage: `{"documents":["a` + strings.Repeat("é", 49) + `"," "],"model":"m","query":"q","return_documents":false,"top_k":2}`,
		TEI:    `{"model":"m","query":"q","texts":["a` + strings.Repeat("é", 49) + `"," "],"truncate":true}`,
	} {
		s := settings(func(s *Settings) { s.API, s.Model, s.PassageBytes = api, "m", 100 })
		if got, err := s.Body("q", rows, []int{2, 1}); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", api, got, err)
		}
	}
	if got, _ := settings(nil).Body("q", rows, []int{0}); string(got) != `{"documents":["bb"],"query":"q","top_n":1}` {
		t.Errorf("%s", got)
	}
}

func TestBatches(t *testing.T) {
	rows := abi.ItemRows{{Score: 0.1}, {Score: 0.9}, {Score: 0.5}, {Score: 0.9}}
	got := settings(func(s *Settings) { s.Candidates, s.Batch = 3, 2 }).Batches(rows)
	if !reflect.DeepEqual(got, [][]int{{1, 3}, {2}}) {
		t.Errorf("%v", got)
	}
	if got := settings(nil).Batches(abi.ItemRows{}); got != nil {
		t.Errorf("%v", got)
	}
}

// Each API is read, a text that was left out has no score, and what is no answer is an error.
func TestRead(t *testing.T) {
	for body, want := range map[string][]float64{
		`{"results": [{"index": 1, "relevance_score": 0.9, "document": {"text": "x"}}, {"index": 0, "relevance_score": 0.1}], "meta": {}}`: {0.1, 0.9},
		`{"object": "list", "data": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]}`:                         {0.1, 0.9},
		` [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.1}]`:                                                                        {0.1, 0.9},
		`[{"index": 0, "score": -4.5}, {"index": 1, "score": 0}]`:                                                                          {-4.5, 0},
	} {
		if got, err := Read(200, []byte(body), 2); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
	if got, err := Read(200, []byte(`[{"index": 1, "score": 0.5}]`), 2); err != nil || !math.IsNaN(got[0]) || got[1] != 0.5 {
		t.Errorf("%v, %v", got, err)
	}
	for body, want := range map[string]string{
		`<html>`:                      "not that of a rerank API",
		``:                            "not that of a rerank API",
		`{}`:                          "no results",
		`[]`:                          "no results",
		`[{"a": 1}]`:                  "lacks index or score",
		`[{"index": 2, "score": 1}]`:  "rates text 2 of 2",
		`[{"index": -1, "score": 1}]`: "rates text -1 of 2",
		`[{"index": 0, "score": 1}, {"index": 0, "score": 1}]`:   "rates text 0 twice",
		`[{"index": 0, "score": 1e999}]`:                         "not that of a rerank API",
		`{"results": [{"index": 0, "relevance_score": "high"}]}`: "not that of a rerank API",
	} {
		if got, err := Read(200, []byte(body), 2); got != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
	if _, err := Read(401, []byte(strings.Repeat("no", 500)), 2); err == nil || !strings.Contains(err.Error(), "grants.http.headers") || len(err.Error()) > 400 {
		t.Errorf("%v", err)
	}
}

func TestApply(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		rated  [][]float64
		before []float64
		want   []float64
	}{
		{[][]float64{{0.9, 0.2}, {0.5}}, []float64{0.1, 1, 0.5, 1}, []float64{0.02, 0.9, 0.5, 0.2}}, // row 0 was not sent
		{[][]float64{{0, 2}, {nan}}, []float64{0.1, 1, 0.5, 1}, []float64{0.05, 0.5, 0.25, 1 / (1 + math.Exp(-2))}},
	} {
		scores := append([]float64(nil), c.before...)
		Apply([][]int{{1, 3}, {2}}, c.rated, scores)
		for i := range scores {
			if math.Abs(scores[i]-c.want[i]) > 1e-9 {
				t.Errorf("%v: %v, want %v", c.rated, scores, c.want)
				break
			}
		}
	}
}

func TestSettings(t *testing.T) {
	if err := settings(nil).Validate(); err != nil {
		t.Errorf("the defaults are invalid: %v", err)
	}
	for want, s := range map[string]*Settings{
		"batch 10: 1000 candidates need 100 requests, at most 32 are sent (raise batch)": settings(func(s *Settings) { s.Candidates, s.Batch = 1000, 10 }),
		"model: the API of voyage needs one":                                             settings(func(s *Settings) { s.API = Voyage }),
	} {
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
