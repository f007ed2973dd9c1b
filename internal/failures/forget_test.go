package failures

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/store"
)

// of is a failure for a user, in a conversation and a run.
func of(tenant, user, conversation, run string) record.Failure {
	f := failure("p", tenant, fmt.Sprint(tenant, "/", user, "/", conversation, "/", run))
	f.User, f.Conversation, f.Run = user, conversation, run
	return f
}

// stored are the texts of what a store has, without those of the first failure.
func stored(t *testing.T, c *counting) []string {
	l := started("other", c)
	defer l.Close(t.Context())
	list := slices.DeleteFunc(texts(l.Of(t.Context(), everything, "").Failures), func(s string) bool { return strings.Contains(s, "first") })
	slices.Sort(list)
	return list
}

// What waits on one host when another process forgets its owner is not written any more. What fails later is.
func TestForgottenElsewhereIsNotWritten(t *testing.T) {
	owners := [][4]string{{"a", "ann", "talk", "fix"}, {"a", "ann", "", ""}, {"a", "", "talk", ""}, {"a", "", "", "fix"}, {"a", "talk", "fix", "ann"}, {"b", "ann", "talk", "fix"}, {"a", "", "", ""}}
	for o, kept := range map[Owner][]int{
		{Tenant: "a"}:                       {5},
		{Tenant: "a", User: "ann"}:          {2, 3, 4, 5, 6},
		{Tenant: "a", Conversation: "talk"}: {1, 3, 4, 5, 6},
		{Tenant: "a", Run: "fix"}:           {1, 2, 4, 5, 6},
		{Tenant: "c"}:                       {0, 1, 2, 3, 4, 5, 6},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &counting{Store: store.NewMemory()}
			l := started("h", c)
			l.Add(failure("p", "z", "first"))
			synctest.Wait() // the next write is a while later
			var want []string
			for i, who := range owners {
				f := of(who[0], who[1], who[2], who[3])
				if l.Add(f); slices.Contains(kept, i) {
					want = append(want, fmt.Sprint("h ", f.Err, " 1"))
				}
			}
			if n, err := Forget(t.Context(), c, o); n != 0 || err != nil {
				t.Errorf("%+v: %d, %v", o, n, err)
			}
			check := func(when string) {
				t.Helper()
				slices.Sort(want)
				if got := stored(t, c); !slices.Equal(got, want) {
					t.Errorf("%+v, %s: %q, want %q", o, when, got, want)
				}
			}
			seen := l.Of(t.Context(), everything, "").Failures
			if len(seen) != len(want)+1 {
				t.Errorf("%+v: the host shows %q", o, texts(seen))
			}
			time.Sleep(time.Minute)
			check("a minute later")
			l.Close(t.Context())
			l = started("h", c) // which reads again what was forgotten
			l.Add(of("a", "ann", "talk", "fix"))
			l.Close(t.Context())
			if !slices.Contains(kept, 0) {
				want = append(want, "h a/ann/talk/fix 1")
			} else {
				want[slices.Index(want, "h a/ann/talk/fix 1")] = "h a/ann/talk/fix 2"
			}
			check("failed again")
		})
	}
}

// racing forgets an owner when failures have been read, and before they are written.
type racing struct {
	*counting
	forget func()
}

func (r *racing) open(context.Context) (store.Store, error) { return r, nil }

func (r *racing) Apply(ctx context.Context, changes ...store.Change) error {
	if r.forget != nil && changes[0].Key == key {
		r.forget()
	}
	return r.counting.Apply(ctx, changes...)
}

// Who is forgotten while failures are being written is not written either.
func TestForgottenWhileWriting(t *testing.T) {
	c := &counting{Store: store.NewMemory()}
	r := &racing{counting: c}
	r.forget = func() {
		r.forget = nil
		if _, err := Forget(t.Context(), c, Owner{Tenant: "a", User: "ann"}); err != nil {
			t.Error(err)
		}
	}
	l := &Log{Host: "h"}
	l.Add(of("a", "ann", "", ""))
	l.Add(of("a", "bob", "", ""))
	l.Keep(r.open, slog.New(slog.DiscardHandler))
	l.Close(t.Context())
	if got := stored(t, c); len(got) != 1 || !strings.Contains(got[0], "bob") || l.lost != 0 {
		t.Errorf("%q, %d lost", got, l.lost)
	}
}

// A store that is replaced by an older copy stops no host from writing.
func TestStoreOfBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		for range 3 {
			if _, err := Forget(t.Context(), c, Owner{Tenant: "a"}); err != nil {
				t.Fatal(err)
			}
		}
		l := started("h", c)
		l.Add(failure("p", "b", "first"))
		time.Sleep(time.Minute)
		c.mu.Lock()
		c.Store = store.NewMemory()
		c.mu.Unlock()
		l.Add(failure("p", "b", "second"))
		time.Sleep(2 * time.Minute)
		l.Close(t.Context())
		if recs, err := c.Read(t.Context(), key, 0, 0); err != nil || len(recs) != 1 || l.lost != 0 {
			t.Errorf("%d records, %v, %d lost", len(recs), err, l.lost)
		}
	})
}

// What was forgotten is known for a day, and failures that wait for longer are lost rather than written.
func TestForgottenIsKnownForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		forget := func(user string) {
			if _, err := Forget(t.Context(), c, Owner{Tenant: "a", User: user}); err != nil {
				t.Fatal(err)
			}
		}
		c.set(errors.New("away"))
		l := started("h", c)
		l.Add(of("a", "ann", "", ""))
		l.Add(of("a", "bob", "", ""))
		forget("ann")
		time.Sleep(20 * time.Hour)
		l.Add(of("a", "eve", "", ""))
		time.Sleep(10 * time.Hour)
		forget("nobody")
		c.set(nil)
		l.Close(t.Context())
		if got := stored(t, c); len(got) != 1 || !strings.Contains(got[0], "eve") || l.lost != 2 {
			t.Errorf("%q, %d lost", got, l.lost)
		}
		recs, err := c.Read(t.Context(), forgotten, 0, 0)
		if err != nil || len(recs) != 1 || strings.Contains(string(recs[0].Data), "nobody") {
			t.Errorf("%d records, %v", len(recs), err)
		}
	})
}

// full takes nothing, and deletes.
type full struct{ store.Store }

func (full) Apply(context.Context, ...store.Change) error { return store.ErrFull }

// A full store keeps nothing from being deleted.
func TestForgetOnAFullStore(t *testing.T) {
	c := &counting{Store: store.NewMemory()}
	l := started("h", c)
	l.Add(of("a", "ann", "", ""))
	l.Close(t.Context())
	if n, err := Forget(t.Context(), full{c}, Owner{Tenant: "a", User: "ann"}); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// A tenant does not see how many failures of others are lost.
func TestLostOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		l := started("h", c)
		c.set(errors.New("away"))
		l.Add(failure("p", "a", "begin"))
		time.Sleep(time.Minute)
		for i := range MaxOfPlugin + 7 {
			l.Add(failure("p", "a", fmt.Sprint(i)))
		}
		c.set(nil)
		time.Sleep(time.Minute)
		all := l.Of(t.Context(), everything, "").Missing
		if !strings.HasPrefix(all, "8 failures") {
			t.Errorf("an operator sees %q", all)
		}
		for _, tenant := range []string{"a", "b"} {
			if got := l.Of(t.Context(), Viewer{Tenant: tenant, Content: true}, "").Missing; got == "" || strings.ContainsAny(got, "0123456789") {
				t.Errorf("tenant %s sees %q", tenant, got)
			}
		}
		l.Close(t.Context())
	})
}

// A later failure in another conversation or run does not keep the request of an earlier one.
func TestRequestsAreNotHandedOn(t *testing.T) {
	for _, who := range [][2]string{{"other", "fix"}, {"talk", "other"}, {"talk", "fix"}} {
		var l Log
		f := of("a", "ann", "talk", "fix")
		l.Add(f)
		f.Request, f.Conversation, f.Run = nil, who[0], who[1]
		l.Add(f)
		got := l.Of(t.Context(), everything, "").Failures
		if same := who == [2]string{"talk", "fix"}; len(got) != 1 || (got[0].Case != nil) != same {
			t.Errorf("%v: %+v", who, got)
		}
	}
}

// What a plugin fails at all the time is not lost after a day, though some of it always waits.
func TestFloodsOutliveTheDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &racing{counting: &counting{Store: store.NewMemory()}}
		l := &Log{Host: "h"}
		r.forget = func() { l.Add(failure("p", "a", "again")) }
		l.Add(failure("p", "a", "again"))
		l.Keep(r.open, slog.New(slog.DiscardHandler))
		time.Sleep(heedTime + 2*time.Hour)
		synctest.Wait() // until nothing is being written
		r.forget = nil
		l.Close(t.Context())
		if got := stored(t, r.counting); len(got) != 1 || l.lost != 0 {
			t.Errorf("%q, %d lost", got, l.lost)
		}
	})
}

// A host shows nothing any more of who was forgotten elsewhere, also if it has just read the store.
func TestForgottenElsewhereIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		l := started("h", c)
		defer l.Close(t.Context())
		l.Add(of("a", "ann", "", ""))
		synctest.Wait()
		if got := l.Of(t.Context(), everything, "").Failures; len(got) != 1 {
			t.Errorf("before: %q", texts(got))
		}
		if n, err := Forget(t.Context(), c, Owner{Tenant: "a", User: "ann"}); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if got := l.Of(t.Context(), everything, "").Failures; len(got) != 0 {
			t.Errorf("after: %q", texts(got))
		}
	})
}

// What fails right after its owner was forgotten goes too, also on a host that knows already who was.
func TestForgottenWhileWorking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		l := started("h", c)
		if _, err := Forget(t.Context(), c, Owner{Tenant: "a", User: "ann"}); err != nil {
			t.Fatal(err)
		}
		l.Of(t.Context(), everything, "")
		time.Sleep(lateTime - time.Second)
		l.Add(of("a", "ann", "early", ""))
		time.Sleep(time.Minute)
		l.Add(of("a", "ann", "later", ""))
		time.Sleep(time.Minute)
		l.Close(t.Context())
		if got := stored(t, c); len(got) != 1 || !strings.Contains(got[0], "later") || len(l.gone) != 0 {
			t.Errorf("%q, %d are remembered", got, len(l.gone))
		}
	})
}

// Many owners are forgotten as one is, and are one note for the hosts that write.
func TestForgetMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		l := started("h", c)
		owners := []Owner{{Tenant: "a", Conversation: "one"}, {Tenant: "a", Conversation: "two"}, {Tenant: "a", User: "eve"}}
		add := func() {
			for _, f := range []record.Failure{of("a", "ann", "one", ""), of("a", "", "two", ""), of("a", "eve", "", "x"), of("a", "one", "eve", "two"), of("b", "eve", "one", "")} {
				l.Add(f)
			}
		}
		add()
		time.Sleep(time.Minute)
		add() // which wait
		if n, err := Forget(t.Context(), c, owners...); n != 3 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		l.Close(t.Context())
		if got, want := stored(t, c), []string{"h a/one/eve/two 2", "h b/eve/one/ 2"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if recs, err := c.Read(t.Context(), forgotten, 0, 0); err != nil || len(recs) != 1 {
			t.Errorf("%d notes, %v", len(recs), err)
		}
		if n, err := Forget(t.Context(), c); n != 0 || err != nil {
			t.Errorf("nobody: %d, %v", n, err)
		}
	})
}
