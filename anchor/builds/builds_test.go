package builds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/promptcache"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// secret is in every text of a build.
const secret = "the-secret-text"

// build returns a build of items with texts of a length.
func build(id, tenant string, at time.Time, items, length int) *Build {
	text := secret + strings.Repeat("x", length)
	r := &pipeline.Result{
		Window: &pipeline.Window{MaxTokens: 1000}, Output: text, BuildTimeMS: 2,
		Overflow: []pipeline.OverflowItem{{Item: item("left", text), Reason: "window_full"}},
		Diagnostics: &pipeline.Diagnostics{
			ItemsIncluded: items, TotalItemsConsidered: items + 1, Steps: []pipeline.StepDiagnostic{{Name: "search", Fuel: 7}},
			SkippedSteps: []string{"rerank"}, StepFailures: []pipeline.StepFailure{{Step: "rerank", Reason: "timeout", Message: secret, Fuel: 3}},
			Lost:  []string{secret},
			Cache: &promptcache.Report{CommonTokens: 5, BrokenBy: &promptcache.Break{Item: "x", Text: explain.Change[string]{From: secret, To: secret}}},
		},
	}
	r.Window.Query, r.Window.QueryTokens = secret, 4
	var traces []explain.ItemTrace
	for i := range items {
		it := item(fmt.Sprint("i", i), text)
		r.Window.Items = append(r.Window.Items, it)
		r.Window.UsedTokens += it.TokenCount
		traces = append(traces, explain.ItemTrace{ID: it.ID, Source: it.Source, Excerpt: text, Outcome: explain.InWindow, Events: []explain.Event{
			{Origin: explain.Origin{Stage: "step", Step: "search"}, Actions: explain.Added},
			{Origin: explain.Origin{Stage: "fill"}, Actions: explain.Admitted, Place: &explain.Change[int]{To: i + 1}},
		}})
	}
	r.Diagnostics.Items = explain.NewTrace(func() []explain.ItemTrace { return traces })
	return &Build{ID: id, Tenant: tenant, Time: at, Pipeline: "p", Generation: "sha256:g", RequestDigest: "sha256:r", Request: json.RawMessage(`{"query":"` + secret + `"}`), Result: r}
}

// undecided are diagnostics of a build that failed before it filled the window.
func undecided(d *pipeline.Diagnostics) *pipeline.Diagnostics {
	out := *d
	traces := slices.Clone(d.Items.All())
	for i := range traces {
		traces[i].Outcome = explain.Undecided
	}
	out.Items = explain.NewTrace(func() []explain.ItemTrace { return traces })
	return &out
}

func item(id, text string) pipeline.Item {
	return pipeline.Item{ID: id, Content: text, Source: pipeline.SourceTool, Score: 0.5, Priority: 5, TokenCount: 10, Metadata: map[string]any{"note": secret}, CreatedAt: start}
}

func memory() (store.Store, func(context.Context) (store.Store, error)) {
	s := store.NewMemory()
	return s, func(context.Context) (store.Store, error) { return s, nil }
}

func keeper(t *testing.T, open func(context.Context) (store.Store, error), l Limits) *Keeper {
	t.Helper()
	k := NewKeeper(open, l, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = k.Close(t.Context()) })
	return k
}

// No text is in a record that is kept without content, and all are in one with it.
func TestContentIsKeptOnlyIfAsked(t *testing.T) {
	s, open := memory()
	k := keeper(t, open, Limits{})
	plain, full := build("plain", "t", start, 3, 10), build("full", "t", start, 3, 10)
	full.Content = true
	failed := &Build{ID: "failed", Tenant: "t", Time: start, Failure: &pipeline.BuildError{Stage: "step", Step: "search", Err: errors.New(secret), Diagnostics: undecided(plain.Result.Diagnostics)}}
	for _, b := range []*Build{plain, full, failed} {
		k.Add(b)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, has := range map[string]bool{"plain": false, "full": true, "failed": false} {
		r, err := Get(t.Context(), s, "t", id)
		if err != nil {
			t.Fatal(err)
		}
		doc, _ := json.Marshal(r)
		if strings.Contains(string(doc), secret) != has || (r.Detail.Request != nil) != has || r.Content != has {
			t.Errorf("%s: %s", id, doc)
		}
		d, err := builtdoc.Decode(id, r.Detail.Result)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if len(d.Traces) != 3 || len(d.Failures) != 1 || d.Failures[0].Reason != "timeout" || d.Failed != (id == "failed") {
			t.Errorf("%s: %+v", id, d)
		}
	}
	r, err := Get(t.Context(), s, "t", "plain")
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Summary; got.Outcome != Degraded || got.Fuel != 10 || got.UsedTokens != 34 || got.Included != 3 || got.Considered != 4 || got.Pipeline != "p" || !got.Time.Equal(start) {
		t.Errorf("%+v", got)
	}
	if plain.Result.Window.Items[0].Metadata == nil || plain.Result.Window.Query != secret {
		t.Error("the caller's result was changed")
	}
	if r, _ := Get(t.Context(), s, "t", "failed"); r.Outcome != Failed || r.Step != "search" {
		t.Errorf("%+v", r.Summary)
	}
}

// A record whose texts are taken out is the one that would have been kept without them.
func TestWithoutContent(t *testing.T) {
	failed := func() *Build {
		b := build("x", "t", start, 3, 10)
		b.Failure = &pipeline.BuildError{Stage: "step", Step: "search", Err: errors.New(secret), Diagnostics: undecided(b.Result.Diagnostics)}
		b.Result = nil
		return b
	}
	for name, made := range map[string]func() *Build{"built": func() *Build { return build("x", "t", start, 3, 10) }, "failed": failed} {
		var docs []*Record
		for _, content := range []bool{true, false} {
			b := made()
			b.Content, b.Options = content, &Options{User: secret}
			doc, err := b.encode()
			if err != nil {
				t.Fatal(err)
			}
			r := &Record{Summary: b.summary()}
			if err := json.Unmarshal(doc, &r.Detail); err != nil {
				t.Fatal(err)
			}
			docs = append(docs, r)
		}
		hidden, err := docs[0].WithoutContent()
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(hidden)
		want, _ := json.Marshal(docs[1])
		if string(got) != string(want) || strings.Contains(string(got), secret) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if docs[0].Detail.Options == nil || !docs[0].Content {
			t.Errorf("%s: the record itself has changed", name)
		}
		if same, err := docs[1].WithoutContent(); err != nil || same != docs[1] {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, result := range []string{"", "{", "null", "{}", `{"window":{}}`, `{"diagnostics":{}}`, `[]`} {
		for _, outcome := range []Outcome{OK, Failed} {
			r := &Record{Summary: Summary{ID: "x", Content: true, Outcome: outcome}, Detail: Detail{Result: json.RawMessage(result)}}
			out, err := r.WithoutContent()
			if readable := outcome == Failed && result == `{"diagnostics":{}}`; readable != (err == nil) || !readable && !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%q: %v, %v", result, out, err)
			}
		}
	}
}

// A list has every record once, the newest first, whatever the size of its pages and the gaps.
func TestPages(t *testing.T) {
	s, open := memory()
	k := keeper(t, open, Limits{})
	var want []string
	for i := range 700 {
		b := build(fmt.Sprintf("b%03d", i), "t", start.Add(time.Duration(i)*time.Second), 1, 0)
		if i%3 == 0 {
			b.Pipeline = "other"
		} else {
			want = append(want, b.ID)
		}
		if !await.True(func() bool { return k.Stats().Waiting <= 100 }) {
			t.Fatalf("records are not written: %+v", k.Stats())
		}
		k.Add(b)
	}
	if err := k.Close(t.Context()); err != nil || k.Stats().Kept != 700 {
		t.Fatal(err, k.Stats())
	}
	if n, err := Remove(t.Context(), s, "t", append(slices.Clone(want[100:400]), "none")...); err != nil || n != 300 {
		t.Fatal(n, err)
	}
	want = slices.Delete(want, 100, 400)
	slices.Reverse(want)
	for _, limit := range []int{1, 7, 256, 1000} {
		var got []string
		for cursor := ""; ; {
			page, err := List(t.Context(), s, "t", Filter{Pipeline: "p"}, cursor, limit)
			if err != nil || len(page.Builds) > limit {
				t.Fatal(len(page.Builds), err)
			}
			for i := range page.Builds {
				got = append(got, page.Builds[i].ID)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %d records, want %d", limit, len(got), len(want))
		}
	}
	page, err := List(t.Context(), s, "t", Filter{Since: start.Add(10 * time.Second), Until: start.Add(12 * time.Second)}, "", 10)
	if err != nil || len(page.Builds) != 2 || page.Builds[0].ID != "b011" {
		t.Errorf("%+v, %v", page, err)
	}
	if _, err := List(t.Context(), s, "t", Filter{}, "x", 10); !errors.Is(err, ErrCursor) {
		t.Error(err)
	}
	if _, err := List(t.Context(), s, "nobody", Filter{}, "x", 10); !errors.Is(err, ErrCursor) {
		t.Errorf("a cursor where nothing is listed: %v", err)
	}
	if _, err := Get(t.Context(), s, "t", "none"); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "builds list") {
		t.Errorf("an unknown ID: %v", err)
	}
	if page, err := List(t.Context(), s, "other", Filter{}, "", 10); err != nil || len(page.Builds) != 0 {
		t.Errorf("another tenant sees %+v, %v", page, err)
	}
	if _, err := Get(t.Context(), s, "other", "b011"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

// Records go when they are too old, and the oldest of the largest tenant when all are too large.
func TestRetention(t *testing.T) {
	s, open := memory()
	k := keeper(t, open, Limits{})
	add := func(tenant string, n, length int) {
		for i := range n {
			b := build(fmt.Sprintf("%s%03d", tenant, i), tenant, start.Add(time.Duration(i)*time.Minute), 2, length)
			b.Content = true
			k.Add(b)
		}
	}
	add("small", 20, 10)
	add("large", 100, 2000)
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	size := func(tenant string) int64 {
		n, err := Size(t.Context(), s, tenant)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	small, large := size("small"), size("large")
	if small == 0 || large < 100*4000 {
		t.Fatal(small, large)
	}
	n, err := Sweep(t.Context(), s, Limits{MaxSize: small + large/2}, start)
	if err != nil || n < 45 || n > 60 || size("small") != small || size("large") > large/2 {
		t.Errorf("deleted %d, %v; %d and %d", n, err, size("small"), size("large"))
	}
	page, err := List(t.Context(), s, "large", Filter{}, "", 1000)
	if err != nil || page.Builds[0].ID != "large099" || len(page.Builds) != 100-n {
		t.Errorf("%d records, %v", len(page.Builds), err)
	}
	n, err = Sweep(t.Context(), s, Limits{Keep: 10 * time.Minute}, start.Add(100*time.Minute))
	page, _ = List(t.Context(), s, "large", Filter{}, "", 1000)
	if err != nil || len(page.Builds) != 10 || size("small") != 0 {
		t.Errorf("deleted %d, %v; %d remain", n, err, len(page.Builds))
	}
	if n, err := RemoveAll(t.Context(), s, "large"); err != nil || n != 10 || size("large") != 0 {
		t.Error(n, err)
	}
	if keys, _ := s.Keys(t.Context(), "large", ""); len(keys) != 0 {
		t.Errorf("left: %v", keys)
	}
}

// stuck is a store whose writes wait, or fail.
type stuck struct {
	store.Store
	wait chan struct{}
	err  error
}

func (s *stuck) Apply(ctx context.Context, changes ...store.Change) error {
	<-s.wait
	if s.err != nil {
		return s.err
	}
	return s.Store.Apply(ctx, changes...)
}

// A store that hangs makes no build wait. What it has no room for is counted.
func TestAddNeverWaits(t *testing.T) {
	mem, _ := memory()
	s := &stuck{Store: mem, wait: make(chan struct{})}
	k := keeper(t, func(context.Context) (store.Store, error) { return s, nil }, Limits{})
	for i := range 1000 { // an Add that waits would never end
		k.Add(build(fmt.Sprint(i), "t", start, 1, 0))
	}
	if least := int64(1000 - queueBuilds - batch - 1); k.Stats().Dropped < least {
		t.Errorf("%+v, want %d dropped", k.Stats(), least)
	}
	dropped := k.Stats().Dropped
	close(s.wait)
	if err := k.Close(t.Context()); err != nil || k.Stats().Kept != 1000-dropped || k.Stats().Waiting != 0 {
		t.Errorf("%v, %+v", err, k.Stats())
	}
	k.Add(build("late", "t", start, 1, 0))
	if k.Stats().Dropped != dropped+1 {
		t.Errorf("%+v", k.Stats())
	}
}

// Large builds wait within a bound of bytes.
func TestQueueIsBoundedByBytes(t *testing.T) {
	mem, _ := memory()
	s := &stuck{Store: mem, wait: make(chan struct{})}
	k := keeper(t, func(context.Context) (store.Store, error) { return s, nil }, Limits{})
	for i := range 100 {
		k.Add(build(fmt.Sprint(i), "t", start, 1, 2<<20))
	}
	if n := k.Stats().Waiting; n > 20 {
		t.Errorf("%d wait", n)
	}
	close(s.wait)
}

// A full disk stops records, not the keeper: it goes on when there is room.
func TestFullDisk(t *testing.T) {
	mem, _ := memory()
	s := &stuck{Store: mem, wait: make(chan struct{}), err: store.ErrFull}
	close(s.wait)
	k := keeper(t, func(context.Context) (store.Store, error) { return s, nil }, Limits{})
	wait := func(done func(Stats) bool) {
		if !await.True(func() bool { return done(k.Stats()) }) {
			t.Fatalf("%+v", k.Stats())
		}
	}
	k.Add(build("one", "t", start, 1, 0))
	wait(func(s Stats) bool { return s.Failed == 1 })
	s.err = nil // no write runs
	k.Add(build("two", "t", start, 1, 0))
	wait(func(s Stats) bool { return s.Kept == 1 })
}

// Processes that write into one file neither lose records nor miscount their size.
func TestManyProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	var all sync.WaitGroup
	for p := range 4 {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Sync: sqlite.Normal})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		all.Go(func() {
			k := keeper(t, func(context.Context) (store.Store, error) { return s, nil }, Limits{})
			k.patience = await.Patience // all are written, however long the others write
			for i := range 60 {
				k.Add(build(fmt.Sprint(p, "-", i), "t", start, 1, 10))
				time.Sleep(time.Millisecond) // so that not all are in one batch
			}
			if err := k.Close(t.Context()); err != nil || k.Stats().Kept != 60 {
				t.Errorf("process %d: error %v, %+v, want 60 kept", p, err, k.Stats())
			}
		})
	}
	all.Wait()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	page, err := List(t.Context(), s, "t", Filter{}, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for i := range page.Builds {
		sum += page.Builds[i].Bytes
	}
	if size, err := Size(t.Context(), s, "t"); err != nil || size != sum || len(page.Builds) != 240 {
		t.Errorf("%d records of %d bytes, size %d, %v", len(page.Builds), sum, size, err)
	}
}

// contended is a store into which others write: before so many of the next writes of the tenant "t",
// and before five of the tenant "u".
type contended struct {
	store.Store
	lost, lostOfU atomic.Int64
}

func (s *contended) Apply(ctx context.Context, changes ...store.Change) error {
	switch tenant := changes[0].Key.Tenant; {
	case tenant == "t" && s.lost.Add(-1) >= 0, tenant == "u" && s.lostOfU.Add(1) <= 5:
		return store.ErrConflict
	}
	return s.Store.Apply(ctx, changes...)
}

// Records are written again while other processes win, and a keeper that must end does not wait.
func TestOthersWriteMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, _ := memory()
		s := &contended{Store: mem}
		k := keeper(t, func(context.Context) (store.Store, error) { return s, nil }, Limits{})
		expect := func(what string, err, want error, kept, failed int64, longest time.Duration, began time.Time) {
			t.Helper()
			if got := k.Stats(); !errors.Is(err, want) || got.Kept != kept || got.Failed != failed || time.Since(began) > longest {
				t.Errorf("%s: error %v, %+v after %v; want error %v, %d kept and %d failed within %v", what, err, got, time.Since(began), want, kept, failed, longest)
			}
		}
		s.lost.Store(20)
		k.Add(build("one", "t", start, 1, 0))
		expect("others win 20 times", k.Flush(t.Context()), nil, 1, 0, patience, time.Now())
		s.lost.Store(math.MaxInt64)
		k.Add(build("lost", "t", start, 1, 0))
		k.Add(build("of another", "u", start, 1, 0))
		began := time.Now()
		expect("others win always", k.Flush(t.Context()), nil, 2, 1, 2*patience, began)
		k.Add(build("cut off", "t", start, 1, 0))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		began = time.Now()
		expect("it must end", k.Close(ctx), context.DeadlineExceeded, 2, 2, patience, began)
	})
}

// A record that would be too large has fewer parts, and says so.
func TestLargeRecords(t *testing.T) {
	for length, want := range map[int]string{10: "", 1 << 10: "traces", 2 << 20: "items"} {
		b := build("x", "t", start, 1, length)
		b.Content = true
		b.Request = nil
		for range 3 {
			b.Result.Window.Items = append(b.Result.Window.Items, item("more", strings.Repeat("y", length)))
		}
		if length == 1<<10 { // the traces alone are too large
			events := make([]explain.Event, 400_000)
			b.Result.Diagnostics.Items = explain.NewTrace(func() []explain.ItemTrace {
				return []explain.ItemTrace{{ID: "a", Outcome: explain.Undecided, Events: events}}
			})
		}
		doc, err := b.encode()
		if err != nil {
			t.Fatal(err)
		}
		var d Detail
		if err := json.Unmarshal(doc, &d); err != nil || d.LeftOut != want || CheckDetail(doc) != nil {
			t.Errorf("%d: %q, %v", length, d.LeftOut, err)
		}
	}
}

// Hostile records of a store are errors.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"id":"a","bytes":1,"bytes_until":1,"outcome":"ok"}`))
	f.Add([]byte(`{"result":{},"left_out":"traces"}`))
	f.Add([]byte(`{"outcome":"failed","result":{"error":{},"diagnostics":{"step_failures":[{}]}}}`))
	f.Add([]byte(`{"outcome":"ok","result":{"window":{"items":[{"id":"a","content":"x","source":"tool"}],"max_tokens":1},"diagnostics":{"cache":{"broken_by":{}},"items":[{"id":"a","source":"tool","fate":"in_window","events":[{"stage":"fill","did":["admitted"],"place":{"from":0,"to":1}}]}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		s := store.NewMemory()
		for _, kind := range []string{KindSummary, KindDetail} {
			if s.Put(t.Context(), store.Key{Tenant: "t", Kind: kind}, store.Record{ID: "a", Data: data}) != nil {
				return
			}
		}
		_, _ = List(t.Context(), s, "t", Filter{}, "", 10)
		if r, err := Get(t.Context(), s, "t", "a"); err == nil {
			for _, r.Content = range []bool{true, false} {
				if hidden, err := r.WithoutContent(); err == nil {
					if d, err := builtdoc.Recorded("a", hidden.Detail.Result, hidden.Content); err == nil {
						d.Explain()
						d.Drawings()
						builtdoc.FirstDeparture(d, d)
					}
				}
			}
		}
		_, _ = Size(t.Context(), s, "t")
		_ = CheckSummary(data)
		_ = CheckDetail(data)
	})
}

func BenchmarkAdd(b *testing.B) {
	s, open := memory()
	k := NewKeeper(open, Limits{}, slog.New(slog.DiscardHandler))
	one := build("x", "t", start, 50, 500)
	for b.Loop() {
		k.Add(one)
	}
	_ = k.Close(context.Background())
	_ = s.Close()
}

func BenchmarkEncode(b *testing.B) {
	one := build("x", "t", start, 50, 500)
	for b.Loop() {
		if _, err := one.encode(); err != nil {
			b.Fatal(err)
		}
	}
}

// A clock that was set back by an hour delays no sweep by an hour, nor what the log says of failures; and
// one that is set ahead and back loses no record that is young by either.
func TestClockJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, open := memory()
		var jump atomic.Int64
		var lines bytes.Buffer
		var fails atomic.Bool
		k := NewKeeper(func(ctx context.Context) (store.Store, error) {
			if fails.Load() {
				return nil, store.ErrBusy
			}
			return open(ctx)
		}, Limits{Keep: 24 * time.Hour}, slog.New(slog.NewTextHandler(&lines, nil)))
		k.now = func() time.Time { return time.Now().Round(0).Add(time.Duration(jump.Load())) }
		at := func(id string, age time.Duration) {
			t.Helper()
			k.Add(build(id, "t", k.now().Add(-age), 1, 0))
			if err := k.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		at("old", 23*time.Hour+59*time.Minute)
		for i, by := range []time.Duration{time.Hour, 0, -time.Hour, 0} {
			jump.Store(int64(by))
			at(fmt.Sprint("young ", i), 0)
			time.Sleep(2 * sweepEvery)
		}
		page, err := List(t.Context(), mem, "t", Filter{}, "", 100)
		if err != nil || len(page.Builds) != 4 {
			t.Errorf("%d records, %v, want the 4 young ones", len(page.Builds), err)
		}
		jump.Store(int64(-time.Hour))
		k.SetLimits(Limits{MaxSize: 1})
		at("one too many", 0)
		time.Sleep(2*sweepEvery + sweepEvery/2)
		if got := k.Stats().Deleted; got != 6 {
			t.Errorf("%d records were deleted two minutes after the clock was set back, want all 6", got)
		}
		fails.Store(true)
		for _, by := range []time.Duration{0, -time.Hour} {
			jump.Store(int64(by))
			at("is lost", 0)
		}
		if err := k.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := strings.Count(lines.String(), "level=WARN"); n != 2 {
			t.Errorf("the log has %d lines of 2 failures, want 2: the second was after the clock was set back:\n%s", n, &lines)
		}
	})
}

// A damaged record does not keep those of a user from being deleted.
func TestRemoveOfBesideDamage(t *testing.T) {
	s, _ := memory()
	key := store.Key{Tenant: "t", Kind: KindSummary}
	recs := []store.Record{{ID: "damaged", Data: []byte(`[]`)}, {ID: "ann", Data: []byte(`{"user":"ann"}`)}, {ID: "bob", Data: []byte(`{"user":"bob"}`)}}
	if _, err := s.Append(t.Context(), key, recs...); err != nil {
		t.Fatal(err)
	}
	if n, err := RemoveOf(t.Context(), s, "t", func(b *Summary) bool { return b.User == "ann" }); n != 1 || !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("%d deleted, %v", n, err)
	}
	if left, err := s.Read(t.Context(), key, 0, 0); err != nil || len(left) != 2 || left[1].ID != "bob" {
		t.Errorf("%d left, %v", len(left), err)
	}
}
