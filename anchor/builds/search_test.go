package builds

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

// found are the ids that a search returns, over all pages.
func found(t *testing.T, x *Index, s store.Store, f Filter, limit int) (out []string) {
	t.Helper()
	for cursor := ""; ; {
		page, err := x.Find(t.Context(), s, "t", f, cursor, limit)
		if err != nil || len(page.Builds) > limit {
			t.Fatalf("%+v: %d builds, error %v", f, len(page.Builds), err)
		}
		for i := range page.Builds {
			out = append(out, page.Builds[i].ID)
		}
		if cursor = page.Next; cursor == "" {
			return out
		}
	}
}

// A search finds what a list finds that reads every record, also when there is not enough room for all of them,
// when others were added, and when some are gone.
func TestSearch(t *testing.T) {
	s, open := memory()
	add := func(from, to int) {
		k := keeper(t, open, Limits{})
		for i := from; i < to; i++ {
			b := build(fmt.Sprintf("b%03d", i), "t", start.Add(time.Duration(i)*time.Second), 1+i%3, 0)
			b.Content, b.Query = i%2 == 0, fmt.Sprintf("How is Größe %d measured?", i%7)
			b.User, b.Key, b.RequestID = fmt.Sprint("u", i%5), fmt.Sprint("k", i%4), fmt.Sprint("r", i)
			k.Add(b)
		}
		if err := k.Close(t.Context()); err != nil || k.Stats().Kept != int64(to-from) {
			t.Fatal(err, k.Stats())
		}
	}
	filters := []Filter{
		{}, {Text: "GRÖSSE 3"}, {Text: "größe 3"}, {Text: "3 größe"}, {Text: " größe \t"}, {Text: "größe nothing"}, {Text: "nothing"}, {User: "u3"}, {Key: "k1", User: "u1"}, {RequestID: "r77"}, {Item: "i2"}, {Item: "left"}, {Item: "i"},
		{Text: "GRÖßE", Item: "i1", User: "u2"}, {Outcome: Failed}, {Since: start.Add(50 * time.Second), Until: start.Add(60 * time.Second)}, {Request: "sha256:r", User: "u1"}, {Pipeline: "p", Default: true},
	}
	x, tight := &Index{}, &Index{most: 20_000}
	same := func(when string) {
		t.Helper()
		for _, f := range filters {
			var want []string
			for cursor := ""; ; {
				page, err := List(t.Context(), s, "t", f, cursor, 1000)
				if err != nil {
					t.Fatal(err)
				}
				for i := range page.Builds {
					want = append(want, page.Builds[i].ID)
				}
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			for _, limit := range []int{1, 7, 1000} {
				for name, x := range map[string]*Index{"an index": x, "a tight one": tight} {
					if got := found(t, x, s, f, limit); !slices.Equal(got, want) {
						t.Errorf("%s: %s, %+v, limit %d: %d builds, want %d", when, name, f, limit, len(got), len(want))
					}
				}
			}
		}
	}
	add(0, 100)
	same("at first")
	add(100, 150)
	same("with others")
	if n, err := RemoveOf(t.Context(), s, "t", func(b *Summary) bool { return b.User == "u3" }); err != nil || n != 30 {
		t.Fatal(n, err)
	}
	same("without a user")
	if _, err := Sweep(t.Context(), s, Limits{Keep: time.Minute}, start.Add(2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	same("without the old ones")
	if rows := x.tenants["t"].rows; rows[0].time.Before(start.Add(time.Minute)) {
		t.Error("the index holds records that are gone")
	}
	if got := found(t, x, s, Filter{Text: "größe 3"}, 10); len(got) == 0 {
		t.Error("nothing is found, and the test shows nothing")
	}
	if _, err := RemoveAll(t.Context(), s, "t"); err != nil {
		t.Fatal(err)
	}
	same("without any")
	if _, err := x.Find(t.Context(), s, "t", Filter{}, "x", 10); err == nil {
		t.Error("a cursor that no page has is taken")
	}
}

// An index forgets the tenants that were searched longest ago.
func TestSearchOfManyTenants(t *testing.T) {
	s, open := memory()
	k := keeper(t, open, Limits{})
	for n := range 30 {
		for i := range 5 {
			k.Add(build(fmt.Sprint(n, "-", i), fmt.Sprint("t", n), start, 1, 0))
		}
	}
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	x := &Index{most: 10_000}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := range 30 {
				if page, err := x.Find(t.Context(), s, fmt.Sprint("t", n), Filter{Item: "i0"}, "", 10); err != nil || len(page.Builds) != 5 {
					t.Errorf("tenant %d: %d builds, error %v", n, len(page.Builds), err)
				}
				if n%10 == 0 {
					x.Forget(fmt.Sprint("t", n))
				}
			}
		})
	}
	all.Wait()
	if n := len(x.tenants); n < 2 || n > 8 {
		t.Errorf("the index has %d tenants, want a few", n)
	}
}

// A mark is found where it stands, and not across two.
func TestMarks(t *testing.T) {
	a, b := markOf("a"), markOf("b")
	for marks, want := range map[string]bool{"": false, a: true, b + a: true, b: false, "x" + a: false, b[:5] + a + "x": false, "xx" + a + b[:4] + a: true} {
		if hasMark(marks, a) != want {
			t.Errorf("%q: %v, want %v", marks, !want, want)
		}
	}
	many := build("x", "t", start, 500, 0)
	if got := many.marks(); len(got) != MaxMarks*markLength || !hasMark(got, markOf("i0")) || hasMark(got, markOf("i499")) {
		t.Errorf("marks of 500 items: %d bytes", len(got))
	}
}

// records puts n summaries into a new store on disk.
func records(t testing.TB, n int) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := build("x", "t", start, 20, 10)
	b.Content, b.Generation = true, Digest([]byte("g"))
	m := marked{b.summary(), b.marks()}
	var recs []store.Record
	for i := range n {
		m.ID, m.Time, m.User, m.Key, m.RequestID = fmt.Sprintf("0190c1d2-0000-7000-8000-%012d", i), start.Add(time.Duration(i)*time.Second), fmt.Sprint("user-", i%500), "k1234567", fmt.Sprintf("%032d", i)
		m.Query, m.Marks = fmt.Sprintf("Question %d: %s?", i, strings.Repeat("how do I send a parcel back ", 2)), markOf(fmt.Sprint("item-", i))+m.Marks[markLength:]
		m.Request, m.Bytes, m.Until = Digest([]byte(m.ID)), 1, int64(i+1)
		doc, err := json.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		if recs = append(recs, store.Record{ID: m.ID, Time: m.Time, Data: doc}); len(recs) == 1000 || i == n-1 {
			if _, err := s.Append(t.Context(), store.Key{Tenant: "t", Kind: KindSummary}, recs...); err != nil {
				t.Fatal(err)
			}
			recs = nil
		}
	}
	return s
}

func BenchmarkSearch(b *testing.B) {
	s := records(b, 100_000)
	searches := map[string]Filter{"text": {Text: "question 77:"}, "nothing": {Text: "nowhere"}, "user": {User: "user-7"}, "request": {RequestID: fmt.Sprintf("%032d", 5)}, "item": {Item: "item-5"}}
	find := func(b *testing.B, x *Index, f Filter) {
		if page, err := x.Find(b.Context(), s, "t", f, "", 50); err != nil || f.Text != "nowhere" && len(page.Builds) == 0 {
			b.Fatal(len(page.Builds), err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			find(b, &Index{}, searches["nothing"])
		}
	})
	x := &Index{}
	find(b, x, Filter{Text: "nowhere"})
	b.ReportMetric(float64(x.tenants["t"].bytes)/(1<<20), "MiB")
	for name, f := range searches {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				find(b, x, f)
			}
		})
	}
	if x.tenants["t"].cut > 0 {
		b.Error("the index has no room for 100,000 records")
	}
}
