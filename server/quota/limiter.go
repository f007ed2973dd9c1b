package quota

import (
	"container/list"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/server"
)

// Limiter holds tenants and keys to their limits. It is safe for concurrent use. It remembers only
// those that have used something lately: an account whose buckets are full again is dropped.
type Limiter struct {
	limits func(server.Principal) (tenant, key Limits)
	// clock is the time since the start. It is not that of the wall, which can jump.
	clock func() time.Duration

	mu       sync.Mutex
	accounts map[holder]*account
	recent   *list.List // of *account, the one that was used last in front
	sharing  bool       // with other hosts, so that what is used is noted
	hosts    int        // there were when they last told each other something
	weight   float64    // how many times something counts; 1 unless the other hosts are out of reach
}

// holder names a tenant or a key.
type holder struct {
	name  string
	isKey bool
}

type account struct {
	holder
	buckets [buckets]bucket
	builds  int
	// elsewhere are the builds on other hosts, and noted is what they do not know yet.
	elsewhere int
	noted     [buckets]float64
	// empty is when all buckets have forgotten everything.
	empty time.Duration
	place *list.Element
}

// NewLimiter makes a limiter. limits returns the limits of the tenant of a principal, and those of
// its key alone. It is called for each request, and may return something else each time.
func NewLimiter(limits func(server.Principal) (tenant, key Limits)) *Limiter {
	start := time.Now()
	return &Limiter{limits: limits, clock: func() time.Duration { return time.Since(start) }, accounts: map[holder]*account{}, recent: list.New(), weight: 1}
}

// held is an account with its limits, for one request.
type held struct {
	*account
	limits Limits
}

// Admit lets a request begin, or refuses it with a [*server.Refusal] of status 429. isBuild says
// that the request counts as a build. release must be called once, with what was used.
func (l *Limiter) Admit(p server.Principal, isBuild bool) (release func(server.Usage), err error) {
	return l.admit(p, isBuild, 1, nil)
}

// admit is Admit for what counts as some requests, or as none. Unless it is nil, header gets what is left
// of the limits.
func (l *Limiter) admit(p server.Principal, isBuild bool, counted float64, header http.Header) (release func(server.Usage), err error) {
	tenant, key := l.limits(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	l.drop(now)
	both := [2]held{{limits: tenant}, {limits: key}}
	for i := range both {
		if both[i].limits == (Limits{}) {
			continue
		}
		h := holder{p.Tenant, false}
		if i == 1 {
			h = holder{p.KeyID, true}
		}
		both[i].account = l.account(h)
		if err := both[i].check(now, isBuild, counted); err != nil {
			return nil, err
		}
	}
	for _, h := range both {
		if h.account == nil {
			continue
		}
		if policies := h.limits.policies(); policies[requests].limit > 0 && counted > 0 {
			l.use(h.account, requests, counted, &policies[requests], now)
		}
		if isBuild {
			h.builds++
		}
	}
	if header != nil {
		tell(header, both)
	}
	return func(u server.Usage) { l.settle(both, isBuild, u) }, nil
}

// use enters what was used on this host.
func (l *Limiter) use(a *account, i int, n float64, p *policy, now time.Duration) {
	if l.sharing {
		a.noted[i] += n
	}
	a.use(i, n*l.weight, p, now)
}

// use enters what was used into a bucket.
func (a *account) use(i int, n float64, p *policy, now time.Duration) {
	b := &a.buckets[i]
	b.forget(p, now)
	b.used += n
	a.empty = max(a.empty, now+b.full(p)+1)
}

// account returns the account of a holder, and marks it as used.
func (l *Limiter) account(h holder) *account {
	a := l.accounts[h]
	if a == nil {
		a = &account{holder: h}
		a.place = l.recent.PushFront(a)
		l.accounts[h] = a
	}
	l.recent.MoveToFront(a.place)
	return a
}

// drop removes accounts that have nothing to remember, the oldest first. It looks at a few only:
// more than a request can add.
func (l *Limiter) drop(now time.Duration) {
	for range 4 {
		e := l.recent.Back()
		if e == nil {
			return
		}
		a := e.Value.(*account)
		if !a.idle(now) {
			l.recent.MoveToFront(e)
			continue
		}
		l.recent.Remove(e)
		delete(l.accounts, a.holder)
	}
}

// idle reports whether a new account would be the same.
func (a *account) idle(now time.Duration) bool {
	return a.builds+a.elsewhere == 0 && a.noted == [buckets]float64{} && now >= a.empty
}

// running is the number of builds on all hosts.
func (a *account) running() int { return a.builds + a.elsewhere }

// check brings the buckets up to date, and says whether a request may run.
func (h *held) check(now time.Duration, isBuild bool, counted float64) error {
	policies := h.limits.policies()
	for i := range policies {
		p, b := &policies[i], &h.buckets[i]
		if p.limit == 0 {
			*b = bucket{at: now}
			continue
		}
		b.forget(p, now)
	}
	for i := range policies {
		if policies[i].limit == 0 || i == requests && counted == 0 {
			continue
		}
		if wait := h.buckets[i].wait(&policies[i]); wait > 0 {
			return h.refuse(policies[i].name, wait, &policies)
		}
	}
	if most := h.limits.ConcurrentBuilds; isBuild && most > 0 && h.running() >= most {
		return h.refuse("builds", time.Second, &policies)
	}
	return nil
}

// settle enters what a request has used.
func (l *Limiter) settle(both [2]held, isBuild bool, u server.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	for _, h := range both {
		if h.account == nil {
			continue
		}
		a := l.account(h.holder) // it may be another one, if it was idle meanwhile
		if isBuild {
			a.builds--
		}
		policies := h.limits.policies()
		for i, used := range [buckets]float64{fuel: float64(u.Fuel), tokens: float64(u.Tokens), modelCalls: float64(u.ModelCalls)} {
			if policies[i].limit == 0 || used <= 0 {
				continue
			}
			l.use(a, i, used, &policies[i], now)
		}
	}
}

// words say what a limit counts.
var words = map[string]string{
	"requests": "requests of a second", "fuel": "fuel of a minute", "tokens": "tokens of a minute",
	"model-calls": "requests to models of a minute", "builds": "builds at the same time",
}

// field is the limit in the field RateLimit-Policy.
func (p *policy) field() string {
	return fmt.Sprintf("%q;q=%d;w=%d", p.name, int64(max(1, p.burst)), int64(p.window.Seconds()))
}

func buildsField(n int) string {
	return fmt.Sprintf("%q;q=%d;qu=%q", "builds", n, "concurrent-requests")
}

// tell writes the limits into a header, and what is left of each. If the tenant and the key have the same
// limit, it is the one of which less is left.
func tell(header http.Header, both [2]held) {
	var limits, lefts [buckets + 1]string
	var least [buckets + 1]int64
	note := func(i int, left int64, limit, text string) {
		if limits[i] == "" || left < least[i] {
			limits[i], lefts[i], least[i] = limit, text, left
		}
	}
	for _, h := range both {
		if h.account == nil {
			continue
		}
		policies := h.limits.policies()
		for i := range policies {
			if p, b := &policies[i], &h.buckets[i]; p.limit > 0 {
				left, full := b.left(p), b.full(p)
				note(i, left, p.field(), fmt.Sprintf("%q;r=%d;t=%s", p.name, left, wholeSeconds(full)))
			}
		}
		if n := h.limits.ConcurrentBuilds; n > 0 {
			left := max(0, n-h.running())
			note(buckets, int64(left), buildsField(n), fmt.Sprintf("%q;r=%d", "builds", left))
		}
	}
	empty := func(s string) bool { return s == "" }
	if list := slices.DeleteFunc(limits[:], empty); len(list) > 0 {
		header.Set("RateLimit-Policy", strings.Join(list, ", "))
		header.Set("RateLimit", strings.Join(slices.DeleteFunc(lefts[:], empty), ", "))
	}
}

// refuse makes the answer for a limit that is used up.
func (h *held) refuse(name string, wait time.Duration, policies *[buckets]policy) error {
	who := "the tenant"
	if h.isKey {
		who = "the key"
	}
	var list []string
	left := int64(0)
	for i := range policies {
		p := &policies[i]
		if p.limit == 0 {
			continue
		}
		list = append(list, p.field())
		if p.name == name {
			left = h.buckets[i].left(p)
		}
	}
	if n := h.limits.ConcurrentBuilds; n > 0 {
		list = append(list, buildsField(n))
	}
	header := http.Header{}
	header.Set("RateLimit-Policy", strings.Join(list, ", "))
	header.Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%s", name, left, wholeSeconds(wait)))
	return &server.Refusal{
		Status: http.StatusTooManyRequests, Reason: "quota_exceeded",
		Message:    fmt.Sprintf("%s has used its %s", who, words[name]),
		Remedy:     "try again after the time in Retry-After, or ask the operator for more",
		RetryAfter: wait, Header: header,
	}
}

// wholeSeconds returns a time in whole seconds, rounded up.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// Len returns the number of accounts that are remembered.
func (l *Limiter) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.accounts)
}
