package quota

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/server"
)

func limited(tenant Limits) *Limiter {
	return NewLimiter(func(server.Principal) (Limits, Limits) { return tenant, Limits{} })
}

func refusal(t *testing.T, err error) *server.Refusal {
	t.Helper()
	var r *server.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("%v is no refusal", err)
	}
	return r
}

var acme = server.Principal{KeyID: "k1", Tenant: "acme"}

// Over any time, a tenant gets its burst and what has come since, and never more; and who waits as
// long as it is told gets what it asks for.
func TestRequestsOfASecond(t *testing.T) {
	for _, rate := range []float64{0.1, 1, 2.5, 1000} {
		synctest.Test(t, func(t *testing.T) {
			l, start := limited(Limits{RequestsPerSecond: rate}), time.Now()
			admitted, refused := 0, 0
			for time.Since(start) < time.Duration(float64(30*time.Second)/min(rate, 1)) && admitted < 5000 {
				release, err := l.Admit(acme, false)
				if err == nil {
					release(server.Usage{})
					admitted++
				} else {
					refused++
					r := refusal(t, err)
					if r.Status != http.StatusTooManyRequests || r.RetryAfter <= 0 {
						t.Fatalf("%+v", r)
					}
					time.Sleep(r.RetryAfter)
				}
				if most := max(1, rate) + rate*time.Since(start).Seconds() + 1e-6; float64(admitted) > most {
					t.Fatalf("%d requests after %v at %v/s", admitted, time.Since(start), rate)
				}
			}
			if least := rate * time.Since(start).Seconds(); float64(admitted) < least-1 {
				t.Errorf("rate %v: only %d in %v", rate, admitted, time.Since(start))
			}
			if refused > admitted+1 {
				t.Errorf("rate %v: %d refusals of %d: who waits is refused again", rate, refused, admitted)
			}
		})
	}
}

// What a build has used is taken from the time that follows.
func TestUsageOfAMinute(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		usage  server.Usage
	}{
		"fuel":        {Limits{FuelPerMinute: 100}, server.Usage{Fuel: 250}},
		"tokens":      {Limits{TokensPerMinute: 100}, server.Usage{Tokens: 250}},
		"model-calls": {Limits{ModelCallsPerMinute: 100}, server.Usage{ModelCalls: 250}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := limited(c.limits)
			release, err := l.Admit(acme, true)
			if err != nil {
				t.Fatal(err)
			}
			release(c.usage)
			_, err = l.Admit(acme, true)
			r := refusal(t, err)
			if r.RetryAfter < 90*time.Second || r.RetryAfter > 91*time.Second {
				t.Errorf("%s: wait %v, want 90s: 150 more than a minute has", name, r.RetryAfter)
			}
			if got, want := r.Header.Get("RateLimit"), fmt.Sprintf("%q;r=0;t=90", name); got != want {
				t.Errorf("RateLimit %s, want %s", got, want)
			}
			if got, want := r.Header.Get("RateLimit-Policy"), fmt.Sprintf("%q;q=100;w=60", name); got != want {
				t.Errorf("RateLimit-Policy %s, want %s", got, want)
			}
			time.Sleep(r.RetryAfter + time.Second)
			release, err = l.Admit(acme, true)
			if err != nil {
				t.Fatalf("%s: after the wait: %v", name, err)
			}
			release(server.Usage{})
		})
	}
}

func TestConcurrentBuilds(t *testing.T) {
	l := limited(Limits{ConcurrentBuilds: 2})
	first, err := l.Admit(acme, true)
	if err != nil {
		t.Fatal(err)
	}
	second, err := l.Admit(acme, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Admit(acme, true); refusal(t, err).Header.Get("RateLimit-Policy") != `"builds";q=2;qu="concurrent-requests"` {
		t.Error(refusal(t, err).Header)
	}
	if _, err := l.Admit(acme, false); err != nil {
		t.Errorf("a request that is no build: %v", err)
	}
	if _, err := l.Admit(server.Principal{Tenant: "other"}, true); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	first(server.Usage{})
	if _, err := l.Admit(acme, true); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	second(server.Usage{})
}

// The limits of a key and those of its tenant both hold, and a request that one of them refuses
// takes nothing from the other.
func TestKeysOfATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(func(p server.Principal) (tenant, key Limits) {
			if p.KeyID == "k1" {
				key.RequestsPerSecond = 1
			}
			return Limits{RequestsPerSecond: 3}, key
		})
		if _, err := l.Admit(acme, false); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := l.Admit(acme, false); refusal(t, err).Message != "the key has used its requests of a second" {
				t.Fatal(err)
			}
		}
		k2 := server.Principal{KeyID: "k2", Tenant: "acme"}
		for range 2 {
			if _, err := l.Admit(k2, false); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Admit(k2, false); refusal(t, err).Message != "the tenant has used its requests of a second" {
			t.Fatal(err)
		}
	})
}

// Tenants that have used nothing for a while take no memory, and those that owe something are kept.
func TestIdleAccountsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(Limits{RequestsPerSecond: 100, FuelPerMinute: 100})
		debtor := server.Principal{Tenant: "debtor"}
		release, _ := l.Admit(debtor, true)
		release(server.Usage{Fuel: 100_000})
		most := 0
		for i := range 100_000 {
			release, err := l.Admit(server.Principal{Tenant: fmt.Sprint(i)}, true)
			if err != nil {
				t.Fatal(err)
			}
			release(server.Usage{})
			time.Sleep(100 * time.Microsecond)
			most = max(most, l.Len())
		}
		if most > 500 { // a request is forgotten after 10 ms, in which 100 others come
			t.Errorf("%d accounts", most)
		}
		if _, err := l.Admit(debtor, true); err == nil {
			t.Error("the debt was forgotten")
		}
	})
}

// Limits that change while requests run leave no build behind.
func TestLimitsChange(t *testing.T) {
	now := Limits{ConcurrentBuilds: 1}
	l := NewLimiter(func(server.Principal) (Limits, Limits) { return now, Limits{} })
	release, err := l.Admit(acme, true)
	if err != nil {
		t.Fatal(err)
	}
	now = Limits{}
	free, err := l.Admit(acme, true)
	if err != nil {
		t.Fatalf("without limits: %v", err)
	}
	now = Limits{ConcurrentBuilds: 1}
	if _, err := l.Admit(acme, true); err == nil {
		t.Error("the first build still runs")
	}
	release(server.Usage{})
	free(server.Usage{}) // began without limits: does not count
	if release, err = l.Admit(acme, true); err != nil {
		t.Fatal(err)
	}
	release(server.Usage{})
}

func BenchmarkLimiter(b *testing.B) {
	l := limited(Limits{RequestsPerSecond: 1e6, FuelPerMinute: 1 << 60, ConcurrentBuilds: 10, TokensPerMinute: 1 << 60})
	for b.Loop() {
		release, err := l.Admit(acme, true)
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		release(server.Usage{Fuel: 1000, Tokens: 1000})
	}
}

// A clock that jumps gives no tenant more than its limit at once, and locks none out for longer than
// the limit says.
func TestClockJumps(t *testing.T) {
	l := limited(Limits{TokensPerMinute: 60, RequestsPerSecond: 10})
	now := time.Hour
	l.clock = func() time.Duration { return now }
	p := server.Principal{Tenant: "acme"}
	try := func() error {
		release, err := l.Admit(p, false)
		if err == nil {
			release(server.Usage{Tokens: 120}) // twice what a minute has
		}
		return err
	}
	for name, jump := range map[string]time.Duration{"an hour ahead": time.Hour, "an hour back": -time.Hour, "a century ahead": 876_000 * time.Hour} {
		now += 10 * time.Minute // the bucket is full again
		if err := try(); err != nil {
			t.Fatalf("%s: before: %v", name, err)
		}
		if err := try(); err == nil {
			t.Errorf("%s: twice the limit is allowed", name)
		}
		now += jump
		first, second := try(), try()
		if jump > 0 && first != nil || second == nil {
			t.Errorf("%s: %v, then %v", name, first, second)
		}
		now += 3 * time.Minute // 120 tokens more than the minute has, at 60 in a minute
		if err := try(); err != nil {
			t.Errorf("%s: locked out: %v", name, err)
		}
	}
}

// Who is let in is told what is left: of each limit that which ends first.
func TestAdmittedRequestsAreToldWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Options{Limits: func(p server.Principal) (Limits, Limits) {
			if p.Tenant == "free" {
				return Limits{}, Limits{}
			}
			return Limits{RequestsPerSecond: 5, TokensPerMinute: 600, ConcurrentBuilds: 9}, Limits{RequestsPerSecond: 100, TokensPerMinute: 300, ConcurrentBuilds: 2}
		}})
		for i, want := range []string{
			`"requests";r=4;t=1, "tokens";r=300;t=0, "builds";r=1`,
			`"requests";r=3;t=1, "tokens";r=50;t=50, "builds";r=1`,
		} {
			h := http.Header{}
			cost := server.Cost{Action: "build", Scope: server.ScopeBuild, Answer: h}
			if err := a.Enter(acme, cost); err != nil {
				t.Fatal(err)
			}
			release, err := a.Admit(t.Context(), acme, cost)
			if err != nil {
				t.Fatal(err)
			}
			if got := h.Get("RateLimit"); got != want {
				t.Errorf("%d: %s, want %s", i, got, want)
			}
			if got, want := h.Get("RateLimit-Policy"), `"requests";q=5;w=1, "tokens";q=300;w=60, "builds";q=2;qu="concurrent-requests"`; got != want {
				t.Errorf("%d: %s, want %s", i, got, want)
			}
			release(server.Usage{Tokens: 250})
		}
		h := http.Header{}
		release, err := a.Admit(t.Context(), server.Principal{Tenant: "free"}, server.Cost{Action: "build", Scope: server.ScopeBuild, Answer: h})
		if err != nil || len(h) > 0 {
			t.Errorf("%v, %v", h, err)
		}
		release(server.Usage{})
		time.Sleep(time.Second)
	})
}
