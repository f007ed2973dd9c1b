package quota

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/store"
)

// cluster is hosts on one store, which can be away for each of them.
type cluster struct {
	store store.Store
	hosts []*Admission
	away  []atomic.Bool
	end   []context.CancelFunc
}

var errAway = errors.New("the store is away")

func newCluster(t *testing.T, n int, limits Limits) *cluster {
	c := &cluster{store: store.NewMemory(), away: make([]atomic.Bool, n)}
	for i := range n {
		a := New(Options{Limits: func(server.Principal) (Limits, Limits) { return limits, Limits{} }})
		ctx, cancel := context.WithCancel(t.Context())
		go a.Share(ctx, Hosts{Open: func(context.Context) (store.Store, error) {
			if c.away[i].Load() {
				return nil, errAway
			}
			return c.store, nil
		}})
		c.hosts, c.end = append(c.hosts, a), append(c.end, cancel)
		t.Cleanup(cancel)
	}
	time.Sleep(2500 * time.Millisecond) // they have found each other
	return c
}

// flood sends requests to some hosts for a time, far more than they may admit, and returns how many ran.
func (c *cluster) flood(hosts []*Admission, length time.Duration) (admitted float64) {
	for begin := time.Now(); time.Since(begin) < length; time.Sleep(10 * time.Millisecond) {
		for _, a := range hosts {
			if a.Enter(acme, server.Cost{}) == nil {
				admitted++
			}
		}
	}
	return admitted
}

// However many hosts a tenant floods, it gets its limit over a time, and for a moment what the documentation
// says at most.
func TestHostsShareALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate, hosts = 10, 3
		c := newCluster(t, hosts, Limits{RequestsPerSecond: rate})
		within := (hosts - 1) * float64(rate+2*rate)
		for _, seconds := range []float64{1, 10, 60, 300} {
			got := c.flood(c.hosts, time.Duration(seconds)*time.Second)
			if most := rate + rate*seconds + within; got > most {
				t.Errorf("%v requests ran in %v s, want at most %v", got, seconds, most)
			}
			if least := 0.9*rate*seconds - within; got < least {
				t.Errorf("%v requests ran in %v s, want at least %v", got, seconds, least)
			}
			time.Sleep(30 * time.Second) // the debt is paid
		}
		recs, err := c.store.Read(t.Context(), hostsKey, 0, 0)
		if err != nil || len(recs) > hosts*(notesKept+2) {
			t.Errorf("%d notes are kept, %v", len(recs), err)
		}
	})
}

// One host of several admits as much as one alone while the others have nothing to do.
func TestOneHostOfSeveralHasTheWholeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, Limits{RequestsPerSecond: 10})
		if got := c.flood(c.hosts[:1], time.Minute); got < 600 {
			t.Errorf("%v requests ran in a minute, want 600", got)
		}
	})
}

// While the store is away, hosts share the limit in equal parts, and say so. Then all is as before.
func TestHostsWithoutAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, Limits{RequestsPerSecond: 9})
		for i := range c.away {
			c.away[i].Store(true)
		}
		time.Sleep(10 * time.Second)
		if err := c.hosts[0].Problem(); err == nil || !errors.Is(err, errAway) || !strings.Contains(err.Error(), "each of 3 hosts") {
			t.Errorf("problem %v", err)
		}
		if got := c.flood(c.hosts, 100*time.Second); got < 850 || got > 930 {
			t.Errorf("%v requests ran in 100 s without the store, want 900", got)
		}
		for i := range c.away {
			c.away[i].Store(false)
		}
		time.Sleep(3 * time.Second)
		if err := c.hosts[0].Problem(); err != nil {
			t.Errorf("the store is back: %v", err)
		}
		if got := c.flood(c.hosts, 100*time.Second); got < 800 || got > 900+9+2*27 {
			t.Errorf("%v requests ran in 100 s afterwards, want 900", got)
		}
	})
}

// The builds of all hosts count, and those of a host that was killed only for some seconds.
func TestHostsShareBuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, Limits{ConcurrentBuilds: 3})
		admit := func(i int) error {
			_, err := c.hosts[i].limiter.Admit(acme, true)
			return err
		}
		for range 2 {
			if err := admit(0); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * tellEvery)
		if err := admit(1); err != nil {
			t.Fatal(err)
		}
		if r := refusal(t, admit(1)); r.Reason != "quota_exceeded" {
			t.Errorf("%+v", r)
		}
		c.away[0].Store(true) // it says nothing more
		c.end[0]()
		time.Sleep(silent + 2*tellEvery)
		if err := admit(1); err != nil {
			t.Errorf("the builds of a host that has gone count: %v", err)
		}
		time.Sleep(gone + 2*tellEvery)
		recs, err := c.store.Read(t.Context(), hostsKey, 0, 0)
		if err != nil || len(recs) > notesKept+2 {
			t.Errorf("%d notes are there: those of the host that has gone stay; %v", len(recs), err)
		}
	})
}

// A host that starts counts what the others have admitted lately, and one that ends deletes what it said.
func TestHostsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := Limits{TokensPerMinute: 1000}
		c := newCluster(t, 1, limits)
		release, err := c.hosts[0].limiter.Admit(acme, true)
		if err != nil {
			t.Fatal(err)
		}
		release(server.Usage{Tokens: 1500})
		time.Sleep(3 * time.Second)
		late := New(Options{Limits: func(server.Principal) (Limits, Limits) { return limits, Limits{} }})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go late.Share(ctx, Hosts{Open: func(context.Context) (store.Store, error) { return c.store, nil }})
		synctest.Wait()
		if _, err := late.limiter.Admit(acme, true); err == nil {
			t.Error("a host that starts does not know what was used")
		}
		cancel()
		c.end[0]()
		synctest.Wait()
		if recs, err := c.store.Read(t.Context(), hostsKey, 0, 0); len(recs) > 1 || err != nil { // the last note is read by nobody
			t.Errorf("%d notes stay, %v", len(recs), err)
		}
	})
}
