package failures

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/store"
)

var everything = Viewer{All: true, Content: true}

// counting is a store that counts what is written, and is away while err is set.
type counting struct {
	store.Store
	writes, bytes atomic.Int64
	mu            sync.Mutex
	err           error
}

func (c *counting) open(context.Context) (store.Store, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c, c.err
}

func (c *counting) set(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *counting) Apply(ctx context.Context, changes ...store.Change) error {
	c.writes.Add(1)
	for _, change := range changes {
		for i := range change.Put {
			c.bytes.Add(int64(len(change.Put[i].Data)))
		}
	}
	return c.Store.Apply(ctx, changes...)
}

// started is a log of a host at a store, which the test may end.
func started(host string, c *counting) *Log {
	l := &Log{Host: host}
	l.Keep(c.open, slog.New(slog.DiscardHandler))
	return l
}

// sameJSON reports whether two documents are there and differ in white space only.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y bytes.Buffer
	if err := errors.Join(json.Compact(&x, a), json.Compact(&y, b)); err != nil {
		t.Error(err)
	}
	return x.String() == y.String()
}

func texts(list []Failure) (out []string) {
	for i := range list {
		out = append(out, fmt.Sprint(list[i].Host, " ", list[i].Text, " ", list[i].Count))
	}
	return out
}

// What failed before a host ended is there when it is started again, whole, with its ID and its count. Hosts that share
// a store see what failed on each.
func TestFailuresOutliveTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		first := started("h1", c)
		for range 3 {
			first.Add(failure("p", "a", "of a"))
		}
		before := first.Of(t.Context(), everything, "p").Failures
		synctest.Wait() // it is written at once
		if c.writes.Load() != 1 {
			t.Errorf("%d writes", c.writes.Load())
		}
		first.Add(failure("p", "b", "of b"))
		first.Close(t.Context())

		again, other := started("h1", c), started("h2", c)
		other.Add(failure("p", "a", "of a"))
		again.Add(failure("p", "a", "of a"))
		time.Sleep(2 * freshTime)
		for name, l := range map[string]*Log{"the host": again, "another": other} {
			got := l.Of(t.Context(), everything, "")
			list := texts(got.Failures)
			slices.Sort(list)
			if fmt.Sprint(list) != "[h1 of a 4 h1 of b 1 h2 of a 1]" || got.Missing != "" {
				t.Errorf("%s: %v, missing %q", name, list, got.Missing)
			}
			for _, f := range got.Failures {
				if f.Host == "h1" && f.Text == "of a" && (f.ID != before[0].ID || !sameJSON(t, f.Case, before[0].Case) || f.Stack != "the stack" || len(f.Repeat) != len(before[0].Repeat) || !f.First.Equal(before[0].First)) {
					t.Errorf("%s: %+v, before %+v", name, f, before[0])
				}
			}
		}
		if got := again.Of(t.Context(), Viewer{Tenant: "a", Content: true}, "").Failures; len(got) != 2 || got[0].Text != "public of a" || got[0].Case != nil || got[0].Repeat != nil || got[0].Host != "" || got[0].NoCase != hidden {
			t.Errorf("a tenant sees %+v", got)
		}
		again.Close(t.Context())
		other.Close(t.Context())
	})
}

// A plugin that fails 100,000 times in a minute, each time in another way, costs a few writes. The newest failures are
// kept, also those of other plugins, and the store has no more than the bounds.
func TestFloodsCostFewWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		l := started("h", c)
		l.Add(failure("quiet", "a", "quiet"))
		large := failure("loud", "a", "")
		large.Request = []byte(`{"query":{"text":"` + strings.Repeat("x", 8<<10) + `"}}`)
		const n = 100_000
		for i := range n {
			large.Err, large.Time = fmt.Sprint("failure ", i), time.Now().Add(time.Duration(i)*time.Microsecond)
			l.Add(large)
			if i%1000 == 0 {
				time.Sleep(600 * time.Millisecond)
			}
		}
		l.Close(t.Context())
		if w, b := c.writes.Load(), c.bytes.Load(); w > 9 || b > 9*MaxOfPlugin*16<<10 {
			t.Errorf("%d writes of %d bytes", w, b)
		}
		recs, err := c.Read(t.Context(), key, 0, 0)
		if err != nil || len(recs) != MaxOfPlugin+1 {
			t.Errorf("%d records, %v", len(recs), err)
		}
		l = started("h", c)
		if got := l.Of(t.Context(), everything, "loud").Failures; len(got) != MaxOfPlugin || got[0].Text != fmt.Sprint("failure ", n-1) || got[MaxOfPlugin-1].Text != fmt.Sprint("failure ", n-MaxOfPlugin) {
			t.Errorf("%d failures: %v", len(got), texts(got))
		}
		if got := l.Of(t.Context(), everything, "quiet").Failures; len(got) != 1 {
			t.Errorf("%d failures of the other plugin", len(got))
		}
		l.Close(t.Context())
	})
}

// A plugin that fails again and again, but never twice in a second, costs no more writes than one that floods. After a
// while without failures the next is written at once.
func TestSteadyFailuresCostFewWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		l := started("h", c)
		for range 400 { // 10 minutes
			l.Add(failure("p", "a", "again"))
			time.Sleep(1500 * time.Millisecond)
		}
		if w := c.writes.Load(); w < 10 || w > 18 {
			t.Errorf("%d writes", w)
		}
		time.Sleep(3 * longestPause)
		before := c.writes.Load()
		l.Add(failure("p", "a", "later"))
		synctest.Wait()
		if w := c.writes.Load(); w != before+1 {
			t.Errorf("%d writes, before %d", w, before)
		}
		l.Close(t.Context())
	})
}

// A store that is away takes nothing from what is seen, and what it does not get is counted. It is written when the
// store is back.
func TestStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory(), err: errors.New("away")}
		l := started("h", c)
		l.Add(failure("p", "a", "first"))
		synctest.Wait()
		for i := range MaxOfPlugin + 4 {
			l.Add(failure("p", "a", fmt.Sprint(i)))
		}
		got := l.Of(t.Context(), everything, "")
		if len(got.Failures) != MaxOfPlugin || !strings.Contains(got.Missing, "cannot be read") {
			t.Errorf("%d failures, missing %q", len(got.Failures), got.Missing)
		}
		c.set(nil)
		time.Sleep(2 * longestPause)
		got = l.Of(t.Context(), everything, "")
		if recs, err := c.Read(t.Context(), key, 0, 0); err != nil || len(recs) != MaxOfPlugin || len(got.Failures) != MaxOfPlugin || got.Missing != "5 failures are lost, because the store could not be written" {
			t.Errorf("%d records, %v; %d failures, missing %q", len(recs), err, len(got.Failures), got.Missing)
		}
		c.set(errors.New("away"))
		l.Add(failure("p", "a", "late"))
		l.Close(t.Context())
		if l.lost != 6 {
			t.Errorf("%d lost, want 6", l.lost)
		}
	})
}

// What is deleted of a user or a tenant is gone from the store and from what waits, and with a user also a request that a
// later failure of another one had kept.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		l := started("h", c)
		add := func(tenant, user, text string, change func(*record.Failure)) {
			f := failure("p", tenant, text)
			f.User = user
			if change != nil {
				change(&f)
			}
			l.Add(f)
		}
		add("a", "ann", "of ann", nil)
		add("a", "bob", "of bob", nil)
		add("b", "ann", "of another ann", nil)
		add("a", "ann", "of both", nil)
		add("a", "bob", "of both", func(f *record.Failure) { f.Request = nil })
		time.Sleep(time.Minute)
		c.set(errors.New("away"))
		add("a", "ann", "waits", nil)
		synctest.Wait()
		n, err := Forget(t.Context(), c, Owner{Tenant: "a", User: "ann"})
		c.set(nil)
		time.Sleep(time.Minute)
		got := l.Of(t.Context(), everything, "").Failures
		list := texts(got)
		slices.Sort(list)
		if n != 1 || err != nil || fmt.Sprint(list) != "[h of another ann 1 h of bob 1 h of both 2]" {
			t.Errorf("%d, %v: %v", n, err, list)
		}
		for _, f := range got {
			if f.Text == "of both" && f.Case != nil {
				t.Errorf("the request of ann is kept: %s", f.Case)
			}
		}
		if n, err := Forget(t.Context(), c, Owner{Tenant: "a"}); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		l.Close(t.Context())
		if recs, err := c.Read(t.Context(), key, 0, 0); err != nil || len(recs) != 1 {
			t.Errorf("%d records, %v", len(recs), err)
		}
	})
}

// Old and damaged records are not shown, and go with the next write. Text that is no UTF-8 keeps nothing from being
// written.
func TestOldAndDamagedRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		l := started("h", c)
		old := failure("p", "a", "old")
		l.Add(old)
		l.Close(t.Context())
		if _, err := c.Append(t.Context(), key, store.Record{ID: "x", Data: []byte(`[1]`)}, store.Record{ID: "y", Data: []byte(`{"plugin":7}`)}); err != nil {
			t.Fatal(err)
		}
		l = started("h", c)
		if got := l.Of(t.Context(), everything, "").Failures; len(got) != 1 {
			t.Errorf("%v", texts(got))
		}
		time.Sleep(maxAge + time.Hour)
		if got := l.Of(t.Context(), everything, "").Failures; len(got) != 0 {
			t.Errorf("%v", texts(got))
		}
		bad := failure("p", "a", "bad \xff")
		bad.Request = []byte("{\"query\":{\"text\":\"\xff\"}}")
		l.Add(bad)
		l.Close(t.Context())
		if recs, err := c.Read(t.Context(), key, 0, 0); err != nil || len(recs) != 1 || l.lost != 0 {
			t.Errorf("%d records, %v, %d lost", len(recs), err, l.lost)
		}
	})
}

// damaged is a store of which one record cannot be read.
type damaged struct {
	*counting
	id string
}

func (d *damaged) open(context.Context) (store.Store, error) { return d, nil }

func (d *damaged) Read(ctx context.Context, k store.Key, after int64, limit int) ([]store.Record, error) {
	recs, err := d.counting.Read(ctx, k, after, limit)
	if i := slices.IndexFunc(recs, func(r store.Record) bool { return r.ID == d.id }); err == nil && i >= 0 {
		return recs[:i], &store.CorruptError{Seq: recs[i].Seq, ID: d.id}
	}
	return recs, err
}

// A record that the store cannot read keeps the others from nothing: they are seen and deleted, further ones are
// written, and it goes.
func TestDamagedRecordStopsNothing(t *testing.T) {
	for name, forget := range map[string]bool{"write": false, "forget": true} {
		synctest.Test(t, func(t *testing.T) {
			d := &damaged{counting: &counting{Store: store.NewMemory()}}
			l := started("h", d.counting)
			for _, text := range []string{"first", "second", "third"} {
				l.Add(failure("p", text, text))
				time.Sleep(time.Minute)
			}
			l.Close(t.Context())
			recs, err := d.counting.Read(t.Context(), key, 0, 0)
			if err != nil || len(recs) != 3 {
				t.Fatalf("%d records, %v", len(recs), err)
			}
			d.id = recs[1].ID
			if forget {
				if n, err := Forget(t.Context(), d, Owner{Tenant: "third"}); n != 1 || err != nil {
					t.Errorf("%d, %v", n, err)
				}
			}
			l = &Log{Host: "h"}
			l.Keep(d.open, slog.New(slog.DiscardHandler))
			if got := l.Of(t.Context(), everything, ""); got.Missing != "" || len(got.Failures) == 0 || got.Failures[len(got.Failures)-1].Text != "first" {
				t.Errorf("%s: %v, missing %q", name, texts(got.Failures), got.Missing)
			}
			want := 1
			if !forget {
				l.Add(failure("p", "a", "fourth"))
				want = 3
			}
			l.Close(t.Context())
			if recs, err := d.Read(t.Context(), key, 0, 0); err != nil || len(recs) != want || l.lost != 0 {
				t.Errorf("%s: %d records, %v, %d lost", name, len(recs), err, l.lost)
			}
		})
	}
}

// A store with the most that is kept takes as much again that is new, and all of it can be forgotten.
func TestAllIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		add := func(text string) {
			c.set(errors.New("away"))
			l := started("h", c)
			for i := range MaxPlugins * MaxOfPlugin {
				f := failure(fmt.Sprint(text, i/MaxOfPlugin), "a", fmt.Sprint(text, i))
				f.Request, f.Stack, f.Output = nil, "", ""
				l.Add(f)
			}
			c.set(nil)
			l.Close(t.Context())
			if l.lost != 0 {
				t.Errorf("%s: %d lost", text, l.lost)
			}
			time.Sleep(time.Minute)
		}
		add("old")
		add("new")
		if recs, err := c.Read(t.Context(), key, 0, 0); err != nil || len(recs) != MaxPlugins*MaxOfPlugin || !bytes.Contains(recs[0].Data, []byte("new")) {
			t.Errorf("%d records, %v", len(recs), err)
		}
	})
}

// What is older than it may be goes, although nothing fails any more. A store that is away is reported once.
func TestOldOnesGoInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		c := &counting{Store: store.NewMemory(), err: errors.New("away")}
		l := &Log{Host: "h"}
		l.Keep(c.open, slog.New(slog.NewTextHandler(&said, nil)))
		l.Add(failure("p", "a", "once"))
		time.Sleep(time.Hour)
		c.set(nil)
		time.Sleep(2 * pruneTime)
		if n := c.writes.Load(); n != 1 {
			t.Errorf("%d writes", n)
		}
		time.Sleep(maxAge)
		synctest.Wait()
		if recs, err := c.Read(t.Context(), key, 0, 0); err != nil || len(recs) != 0 {
			t.Errorf("%d records, %v", len(recs), err)
		}
		l.Close(t.Context())
		if n := strings.Count(said.String(), "not written"); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
}
