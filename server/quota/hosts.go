package quota

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/store"
)

const (
	// tellEvery is how often hosts tell each other what was used.
	tellEvery = time.Second
	// tellTime bounds one exchange.
	tellTime = 3 * time.Second
	// silent is the time after which a host that says nothing does not count. A host that cannot tell anything
	// for so long takes its share only.
	silent = 5 * time.Second
	// gone is the time after which the notes of a silent host are deleted.
	gone = time.Minute
	// notesKept is how many notes of a host stay. One that starts counts what they say.
	notesKept = 10
	// maxNoted is how many tenants and keys one note has. The others come into the next one.
	maxNoted = 20_000
	// readTogether is how many notes are read together.
	readTogether = 500
)

// hostsKey is the list of the notes.
var hostsKey = store.Key{Tenant: store.ClusterTenant, Kind: "used"}

// Hosts are the hosts that serve the same tenants. They tell each other through records of a store what was
// used, so that limits count for all of them together.
type Hosts struct {
	// Open returns the store that the hosts share.
	Open func(context.Context) (store.Store, error)
	// Logger gets a line when the store goes away, and one when it is back. nil: nothing is logged.
	Logger *slog.Logger
}

// note is what one host says: what was used since its last note, and how many builds it has.
type note struct {
	Host string  `json:"host"`
	Used []noted `json:"used,omitempty"`
}

type noted struct {
	Name   string           `json:"name"`
	IsKey  bool             `json:"key,omitempty"`
	Used   [buckets]float64 `json:"used"`
	Builds int              `json:"builds,omitempty"`
}

// exchange is what one host knows of the others.
type exchange struct {
	Hosts
	limiter *Limiter
	id      string
	after   int64    // the number of the last note that was read
	mine    []string // the notes of this host, the oldest first
	others  map[string]*other
	told    time.Duration // when the last exchange succeeded

	mu      sync.Mutex
	problem error
}

// other is another host.
type other struct {
	seen time.Duration
	last note
	ids  []string
}

// Share makes the limits those of all hosts together, until ctx ends. What another host admits counts here
// two seconds later at most, and is then a debt like any other. So hosts can admit more than the limits for a
// moment: each of them what may be used at once and in these two seconds. Over a longer time they do not. The
// collections and the memory of a tenant are read from the store anyway.
//
// While the store is away, everything that is used counts as many times as there were hosts. Clocks do not
// matter: only how long a host says nothing is measured, by the one that listens.
func (a *Admission) Share(ctx context.Context, h Hosts) {
	h.Logger = cmp.Or(h.Logger, slog.New(slog.DiscardHandler))
	x := &exchange{Hosts: h, limiter: a.limiter, id: rand.Text(), others: map[string]*other{}}
	a.mu.Lock()
	a.exchange = x
	a.mu.Unlock()
	a.limiter.share()
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		x.once(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			x.leave()
			return
		}
	}
}

// Problem says why the limits are not shared with other hosts at the moment, nil if they are, or if they never
// are.
func (a *Admission) Problem() error {
	a.mu.Lock()
	x := a.exchange
	a.mu.Unlock()
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.problem
}

// once makes one exchange, and notes how it went.
func (x *exchange) once(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	away := x.problem != nil // only this goroutine writes it
	err := x.tell(limited, away)
	if ctx.Err() != nil {
		return
	}
	now := x.limiter.clock()
	switch {
	case err == nil:
		x.told = now
		if x.limiter.agree(x.count(now), x.others, now); away {
			x.Logger.Info("limits: they count for all hosts again")
			x.set(nil)
		}
	case !away && now-x.told >= silent:
		n := x.limiter.part()
		x.set(fmt.Errorf("limits: use on other hosts is unknown, so each of %d hosts takes its part: %w", n, err))
		x.Logger.Warn("limits: use on other hosts is unknown, so each takes its part", "hosts", n, "error", err)
	}
}

func (x *exchange) set(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.problem = err
}

// count returns how many hosts there are.
func (x *exchange) count(now time.Duration) (n int) {
	n = 1
	for _, o := range x.others {
		if now-o.seen < silent {
			n++
		}
	}
	return n
}

// tell writes what this host has used, and reads what the others have. After a time without the store neither
// counts: the part of each host did.
func (x *exchange) tell(ctx context.Context, away bool) error {
	s, err := x.Open(ctx)
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	used := x.limiter.take()
	if away {
		for i := range used {
			used[i].Used = [buckets]float64{}
		}
	}
	data, err := json.Marshal(note{x.id, used})
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	old, dead := x.mine[:max(0, len(x.mine)-notesKept)], x.dead()
	err = s.Apply(ctx, store.Change{Key: hostsKey, Delete: append(old[:len(old):len(old)], dead...), Put: []store.Record{{Data: data}}})
	if err != nil {
		if !errors.Is(err, store.ErrUnknown) && !away {
			x.limiter.giveBack(used)
		}
		return fmt.Errorf("write: %w", err)
	}
	x.mine = x.mine[len(old):]
	if len(dead) > 0 {
		x.buried()
	}
	return x.read(ctx, s, away)
}

// dead returns the notes of hosts that have gone.
func (x *exchange) dead() (ids []string) {
	for _, o := range x.others {
		if x.limiter.clock()-o.seen >= gone {
			ids = append(ids, o.ids[:min(len(o.ids), store.MaxBatch/2-len(ids))]...)
		}
	}
	return ids
}

func (x *exchange) buried() {
	for id, o := range x.others {
		if x.limiter.clock()-o.seen >= gone {
			delete(x.others, id)
		}
	}
}

// read reads the notes that are new.
func (x *exchange) read(ctx context.Context, s store.Store, away bool) error {
	for {
		recs, err := s.Read(ctx, hostsKey, x.after, readTogether)
		for i := range recs {
			x.after = recs[i].Seq
			x.hear(&recs[i], away)
		}
		if damaged, ok := errors.AsType[*store.CorruptError](err); ok {
			x.after = max(x.after, damaged.Seq) // the next exchange goes on behind it
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if len(recs) < readTogether {
			return nil
		}
	}
}

// hear takes a note.
func (x *exchange) hear(rec *store.Record, away bool) {
	var n note
	if json.Unmarshal(rec.Data, &n) != nil || n.Host == "" {
		return // of a version that says it in another way
	}
	if n.Host == x.id {
		x.mine = append(x.mine, rec.ID)
		return
	}
	o := x.others[n.Host]
	if o == nil {
		o = &other{}
		x.others[n.Host] = o
	}
	o.seen, o.last = x.limiter.clock(), n
	if o.ids = append(o.ids, rec.ID); len(o.ids) > notesKept {
		o.ids = o.ids[1:] // that host deletes it
	}
	if !away {
		x.limiter.hear(n.Used)
	}
}

// leave deletes the notes of this host, so that the others count without it.
func (x *exchange) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), tellTime)
	defer cancel()
	if s, err := x.Open(ctx); err == nil && len(x.mine) > 0 {
		_, _ = s.Delete(ctx, hostsKey, x.mine...) // otherwise another host deletes them
	}
}

// share begins to note what is used.
func (l *Limiter) share() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sharing = true
}

// take returns what was used since the last call, and the builds that run.
func (l *Limiter) take() (list []noted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for h, a := range l.accounts {
		if len(list) == maxNoted {
			break
		}
		if a.noted == [buckets]float64{} && a.builds == 0 {
			continue
		}
		list = append(list, noted{h.name, h.isKey, a.noted, a.builds})
		a.noted = [buckets]float64{}
	}
	return list
}

// giveBack has the next take return what an earlier one has returned.
func (l *Limiter) giveBack(list []noted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range list {
		a := l.account(holder{list[i].Name, list[i].IsKey})
		for b, n := range list[i].Used {
			a.noted[b] += n
		}
	}
}

// limitsOf returns the limits of a holder.
func (l *Limiter) limitsOf(h holder) Limits {
	if h.isKey {
		_, key := l.limits(server.Principal{KeyID: h.name})
		return key
	}
	tenant, _ := l.limits(server.Principal{Tenant: h.name})
	return tenant
}

// hear enters what was used on another host. Holders without limits, and numbers that no host writes, are left
// out.
func (l *Limiter) hear(list []noted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	for i := range list {
		n := &list[i]
		h := holder{n.Name, n.IsKey}
		limits := l.limitsOf(h)
		policies := limits.policies()
		for b, used := range n.Used {
			if policies[b].limit > 0 && used > 0 {
				l.account(h).use(b, used, &policies[b], now)
			}
		}
	}
}

// agree ends an exchange: the store is there, so many hosts are, and this is what the others build.
func (l *Limiter) agree(hosts int, others map[string]*other, now time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts, l.weight = hosts, 1
	for _, a := range l.accounts {
		a.elsewhere = 0
	}
	for _, o := range others {
		if now-o.seen >= silent {
			continue
		}
		for i := range o.last.Used {
			n := &o.last.Used[i]
			if h := (holder{n.Name, n.IsKey}); n.Builds > 0 && l.limitsOf(h).ConcurrentBuilds > 0 {
				l.account(h).elsewhere += n.Builds
			}
		}
	}
}

// part makes everything count for as many hosts as there were, and returns their number.
func (l *Limiter) part() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts = max(1, l.hosts)
	l.weight = float64(l.hosts)
	return l.hosts
}
