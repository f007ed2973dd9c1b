package memory

import (
	"context"
	"fmt"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

// counted is an embedder that notes how many texts it was asked for.
func counted(asked *int, dimension int) Embedder {
	return EmbedFunc(func(_ context.Context, texts []string) ([][]float32, error) {
		*asked += len(texts)
		out := make([][]float32, len(texts))
		for i := range out {
			out[i] = make([]float32, dimension)
			out[i][0] = 1
		}
		return out, nil
	})
}

// Users who take turns must not have all their facts embedded again for each build: with
// a model behind it, that is a wait and a price for every query.
func TestUsersKeepTheirVectors(t *testing.T) {
	asked := 0
	m := newManager(t, Config{
		Scorer: &Scorer{Relevance: 1, Embedder: counted(&asked, 2)}, MaxFacts: 5,
		FilterBy: func(q *pipeline.Query) Filter { return Filter{UserID: q.Metadata["user"].(string)} },
	})
	users := []string{"ann", "bob"}
	for _, user := range users {
		for i := range 50 {
			mustAdd(t, m, Entry{Content: fmt.Sprint(user, " fact ", i), UserID: user})
		}
	}
	for range 3 {
		for _, user := range users {
			if _, err := m.Items(t.Context(), &pipeline.Query{Text: "q", Metadata: map[string]any{"user": user}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if asked != 2*50+1 {
		t.Errorf("%d texts embedded, want each fact and the query once: %d", asked, 2*50+1)
	}
}

// What is kept stays within two generations, and what is in use stays in it.
func TestVectorsAreForgotten(t *testing.T) {
	asked, dimension := 0, vectorBytes/4/8
	v, embedder := new(vectors), counted(&asked, dimension) // 8 to a generation
	for i := range 40 {
		for _, texts := range [][]string{{"hot"}, {fmt.Sprint("text ", i)}} {
			if _, err := v.of(t.Context(), embedder, texts); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(v.young) + len(v.old); n > 18 {
			t.Fatalf("%d vectors kept", n)
		}
	}
	if asked != 41 {
		t.Errorf("%d texts embedded, want 41: what is in use is not forgotten", asked)
	}
}
