package beir

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestNDCG(t *testing.T) {
	grades := map[string]float64{"a": 1, "b": 2, "zero": 0}
	for _, c := range []struct {
		name    string
		ranking []string
		grades  map[string]float64
		want    float64
	}{
		{"ideal", []string{"b", "a"}, grades, 1},
		{"turned round", []string{"a", "b"}, grades, (1 + 2/math.Log2(3)) / (2 + 1/math.Log2(3))},
		{"one at the second place", []string{"x", "b"}, grades, (2 / math.Log2(3)) / (2 + 1/math.Log2(3))},
		{"too late", []string{"x", "y", "z", "b"}, grades, 0},
		{"nothing found", nil, grades, 0},
		{"nothing relevant", []string{"a"}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := NDCG(c.ranking, c.grades, 3); math.Abs(got-c.want) > 1e-12 {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t2\n")
	judged, err := Judgements(path)
	if err != nil || judged["1"]["b"] != 2 {
		t.Errorf("got %v, %v", judged, err)
	}
	for _, bad := range []string{"h\n1\ta\n", "h\n1\ta\tx\n"} {
		write(bad)
		if _, err := Judgements(path); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
	write("{\"_id\": \"1\", \"text\": \"x\"}\n{\"_id\": \"2\"}\n")
	records, err := Records(path)
	if err != nil || len(records) != 2 || records[0].Text != "x" {
		t.Errorf("got %v, %v", records, err)
	}
	write("{")
	if _, err := Records(path); err == nil {
		t.Error("half a record passes")
	}
}
