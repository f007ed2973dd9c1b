package quota

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/server"
)

// Who has spent what it may in a day is refused until midnight in UTC, for builds only. Who is let in is told
// what is left. What a build cost is noted when it ends.
func TestMoney(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the day is 2000-01-01
		time.Sleep(18*time.Hour + 30*time.Minute)
		byTenant, byKey, noted := 0.0, 0.0, 0
		limits := [2]Limits{{USDPerDay: 10}, {USDPerDay: 2, RequestsPerSecond: 5}}
		a := New(Options{
			Limits: func(server.Principal) (Limits, Limits) { return limits[0], limits[1] },
			Spent: func(_ context.Context, tenant, key string) (float64, float64, error) {
				if tenant != acme.Tenant || key != acme.KeyID {
					t.Errorf("spent by %q and %q", tenant, key)
				}
				return byTenant, byKey, nil
			},
			Spend: func(tenant, _ string, services []ledger.Line) { noted += len(services) },
		})
		try := func(action string) (http.Header, error) {
			h := http.Header{}
			release, err := a.Admit(t.Context(), acme, server.Cost{Action: action, Scope: server.ScopeBuild, Answer: h})
			if err == nil {
				release(server.Usage{Services: make([]ledger.Line, 3)})
			}
			return h, err
		}
		h, err := try("build")
		if err != nil || noted != 3 || h.Get("RateLimit") != `"requests";r=5;t=0, "cost";r=2000000;t=19800` || h.Get("RateLimit-Policy") != `"requests";q=5;w=1, "cost";q=2000000;w=86400;qu="micro-usd"` {
			t.Errorf("%v, %v, %d noted", h, err, noted)
		}
		for name, is := range map[string]struct {
			tenant, key float64
			message     string
		}{
			"the key":    {2, 2, "the key has spent the 2 US dollars that it may spend in a day"},
			"the tenant": {10.5, 1, "the tenant has spent the 10 US dollars that it may spend in a day"},
		} {
			byTenant, byKey = is.tenant, is.key
			_, err := try("build")
			r := refusal(t, err)
			if r.Status != http.StatusTooManyRequests || r.Reason != "quota_exceeded" || r.Message != is.message || r.RetryAfter != 5*time.Hour+30*time.Minute || r.Header.Get("RateLimit") != `"cost";r=0;t=19800` {
				t.Errorf("%s: %+v", name, r)
			}
			if _, err := try("listBuilds"); err != nil {
				t.Errorf("%s: what costs nothing: %v", name, err)
			}
		}
		limits = [2]Limits{}
		if _, err := try("build"); err != nil {
			t.Errorf("without limits: %v", err)
		}
		time.Sleep(time.Second)
	})
}

// Builds that wait for their turn are refused when those before them have spent what there was.
func TestMoneyIsSpentWhileBuildsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spent, built, refused atomic.Int64
		a := New(Options{
			Queue:  QueueOptions{Builds: 1},
			Limits: func(server.Principal) (Limits, Limits) { return Limits{}, Limits{USDPerDay: 2} },
			Spent: func(context.Context, string, string) (float64, float64, error) {
				n := float64(spent.Load())
				return n, n, nil
			},
			Spend: func(string, string, []ledger.Line) { spent.Add(1) },
		})
		for range 20 {
			go func() {
				release, err := a.Admit(t.Context(), acme, server.Cost{Action: "build", Scope: server.ScopeBuild})
				if err != nil {
					refused.Add(1)
					return
				}
				time.Sleep(time.Second)
				built.Add(1)
				release(server.Usage{Services: make([]ledger.Line, 1)})
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		if built.Load() != 2 || refused.Load() != 18 {
			t.Errorf("%d builds, %d refused", built.Load(), refused.Load())
		}
	})
}
