package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestEngines asks every engine for a document that only one question fits.
func TestEngines(t *testing.T) {
	c := madeUp(50, 1, true)
	rare := &c.documents[17]
	rare.text += "the zebra crossing"
	q := &question{text: "where is the zebra's crossing?", vector: rare.vector}
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			x, err := e.open(t.Context(), t.TempDir(), c.dim)
			if err != nil {
				t.Fatal(err)
			}
			if err := fill(t.Context(), x, c.documents); err != nil {
				t.Fatal(err)
			}
			ids, err := x.search(t.Context(), q, 10)
			if err != nil || len(ids) == 0 || ids[0] != rare.id {
				t.Errorf("found %v, want %s first (%v)", ids, rare.id, err)
			}
			if err := x.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	r := &report{Sets: []result{{setScifact, []row{
		{oursWords, figures{NDCG: 0.6, Ingest: 10, CPU: 1}},
		{oursHybrid, figures{NDCG: 0.7, Ingest: 10, CPU: 1}},
		{peerBleve, figures{NDCG: 0.65, Ingest: 5, CPU: 0.5}},
		{peerFTS5, figures{NDCG: 0.5, Ingest: 11, CPU: 3}},
	}}}}
	r.judge()
	var met []bool
	for _, v := range r.Targets {
		met = append(met, v.Met)
	}
	if len(met) != 3 || !met[0] || !met[1] || met[2] || r.missed() != 1 {
		t.Errorf("got %v, want quality and ingestion met and the query missed", r.Targets)
	}
	var out bytes.Buffer
	if err := r.write(&out); err != nil || !strings.Contains(out.String(), "missed  scifact: anchor-host, words: cpu ms") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestMedians(t *testing.T) {
	m := medians([]figures{{P50: 3, Disk: 1}, {P50: 1, Disk: 9}, {P50: 2, Disk: 5}})
	if m.P50 != 2 || m.Disk != 5 {
		t.Errorf("got %+v", m)
	}
}

func TestFlags(t *testing.T) {
	for _, args := range []string{"-runs 0", "-sets (", "more"} {
		var out bytes.Buffer
		if got := run(context.Background(), strings.Fields(args), &out, &out); got != 2 {
			t.Errorf("%s: status %d, want 2 (%s)", args, got, out.String())
		}
	}
}
