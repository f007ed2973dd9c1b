package host_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/store"
)

// loadKV loads the guest that reads and writes its store, with one instance.
func loadKV(t *testing.T, h *host.Host, cfg host.PluginConfig) *host.Plugin {
	t.Helper()
	cfg.Grants.KV, cfg.Limits.Instances = &host.KVGrant{Quota: 1000}, 1
	return load(t, h, "foreign-kv", cfg)
}

// kvDo calls a function of that guest for a tenant.
func kvDo(t *testing.T, p *host.Plugin, tenant, function, input string) string {
	t.Helper()
	out, err := kvTry(t.Context(), p, tenant, function, input)
	if err != nil {
		t.Errorf("tenant %q, %s %q: %v", tenant, function, input, err)
	}
	return out
}

func kvTry(ctx context.Context, p *host.Plugin, tenant, function, input string) (string, error) {
	if tenant != "" {
		ctx = host.WithTenant(ctx, tenant)
	}
	r, err := p.Call(ctx, function, []byte(input))
	if err != nil {
		return "", err
	}
	return string(r.Output), nil
}

// Tenants that one instance serves one after another have a store each, in every
// state, and each has its full quota.
func TestTenantsAreApart(t *testing.T) {
	for _, state := range []host.State{host.StateReset, host.StateKeep, host.StateFresh} {
		t.Run(string(state), func(t *testing.T) {
			p := loadKV(t, newHost(t, host.Config{}), host.PluginConfig{State: state})
			tenants := []string{"", "a", "b", "A", "a b"}
			value := func(tenant string, round int) string {
				return fmt.Sprintf("%q in round %d", tenant, round) + strings.Repeat(".", 800)
			}
			for round := range 3 {
				for _, tenant := range tenants {
					want := ""
					if round > 0 {
						want = value(tenant, round-1)
					}
					if got := kvDo(t, p, tenant, "get", "key"); got != want {
						t.Errorf("tenant %q finds %q, want %q", tenant, got, want)
					}
					kvDo(t, p, tenant, "set", "key="+value(tenant, round))
				}
			}
			if total, _ := host.PoolCounts(p); state != host.StateFresh && total != 1 {
				t.Errorf("%d instances served", total)
			}
			for _, tenant := range tenants {
				_, err := kvTry(t.Context(), p, tenant, "set", "more="+value(tenant, 0))
				if perr := checkReason(t, err, abi.ReasonGuestError); !strings.Contains(perr.Error(), "status 1") {
					t.Errorf("tenant %q stores twice its quota: %v", tenant, perr)
				}
			}
		})
	}
}

// No tenant, an empty one and the default one are the same; the inner of two
// names holds.
func TestDefaultTenant(t *testing.T) {
	p := loadKV(t, newHost(t, host.Config{}), host.PluginConfig{})
	kvDo(t, p, "", "set", "key=value")
	for _, ctx := range []context.Context{
		host.WithTenant(t.Context(), ""), host.WithTenant(t.Context(), store.DefaultTenant), host.WithTenant(host.WithTenant(t.Context(), "a"), ""),
	} {
		if r, err := p.Call(ctx, "get", []byte("key")); err != nil || string(r.Output) != "value" {
			t.Errorf("%v finds %+v, error %v", ctx, r, err)
		}
	}
}

// A guest has no way to name a tenant: whatever it makes of its keys, they are
// keys of the tenant it is called for.
func TestGuestCannotNameATenant(t *testing.T) {
	h := newHost(t, host.Config{})
	p, other := loadKV(t, h, host.PluginConfig{}), loadKV(t, h, host.PluginConfig{Name: "other"})
	kvDo(t, p, "a", "set", "secret=of a")
	kvDo(t, other, "b", "set", "secret=of another plugin")
	for _, key := range []string{
		"secret", "a/secret", "a:secret", "a\x00secret", "a.secret", "../a/secret", "\x00a\x00secret", "a\nsecret", "asecret",
		"foreign-kv/a/secret", "foreign-kv\x00a\x00secret", "other/b/secret", "other\x00secret", "tenant:a secret", strings.Repeat("a", 4000),
	} {
		for _, tenant := range []string{"", "b"} {
			if got := kvDo(t, p, tenant, "get", key); got != "" {
				t.Errorf("tenant %q, key %q: finds %q", tenant, key, got)
			}
		}
		kvDo(t, p, "b", "set", key+"=") // deletes, if anything
	}
	if got := kvDo(t, p, "a", "get", "secret"); got != "of a" {
		t.Errorf("the tenant finds %q", got)
	}
}

// What a call read is in no later call of another tenant, whatever the state and however
// few instances there are. Kept state is there for the tenant's own next call.
func TestTenantsShareNoState(t *testing.T) {
	for state, want := range map[host.State]string{
		host.StateReset: "", host.StateFresh: "l" /* what the init before stored */, host.StateKeep: "l",
	} {
		p := loadKV(t, newHost(t, host.Config{}), host.PluginConfig{State: state})
		kvDo(t, p, "a", "set", "secret=s")
		kvDo(t, p, "a", "hoard", "secret")
		if got := kvDo(t, p, "a", "kept", ""); state == host.StateKeep && got != "s" {
			t.Errorf("the tenant itself finds %q in the guest", got)
		}
		if got := kvDo(t, p, "b", "kept", ""); got != want {
			t.Errorf("%s: the next tenant finds %q in the guest, want %q", state, got, want)
		}
	}
}

// The variables of Extism and the status of the last HTTP response stay with one tenant,
// too. Tenants have an instance each as long as there are enough, and take turns with one
// where there are not; those who keep asking are all served.
func TestKeptInstancesAreOfOneTenant(t *testing.T) {
	for _, instances := range []int{1, 2, 4} {
		p := load(t, newHost(t, host.Config{}), "foreign", host.PluginConfig{Limits: host.Limits{Instances: instances}})
		if p.State() != host.StateKeep {
			t.Fatalf("state %q", p.State())
		}
		for round := range 3 {
			for _, tenant := range []string{"a", "b", "", "c"} {
				least, most := 1, round+1 // what others count is more than that
				switch instances {
				case 1:
					most = 1
				case 4:
					least = most
				}
				if got := len(kvDo(t, p, tenant, "count", "")); got < least || got > most {
					t.Errorf("%d instances: tenant %q counts %d in round %d, want %d to %d", instances, tenant, got, round, least, most)
				}
			}
		}
		if total, idle := host.PoolCounts(p); total != instances || idle != instances {
			t.Errorf("%d instances, %d idle, want %d", total, idle, instances)
		}
	}
}

// Many tenants at once share a few instances of a plugin that keeps its state: each finds
// what it left itself or nothing, and none is turned away.
func TestKeptStateOfManyTenantsAtOnce(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "foreign-kv", host.PluginConfig{
		State: host.StateKeep, Grants: host.Grants{KV: &host.KVGrant{}}, Limits: host.Limits{Instances: 3, QueueTimeout: time.Minute}})
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			tenant := string(rune('A' + n))
			kvDo(t, p, tenant, "set", "mine="+tenant)
			for range 40 {
				kvDo(t, p, tenant, "hoard", "mine")
				if got := kvDo(t, p, tenant, "kept", ""); got != tenant && got != "l" && got != "" {
					t.Errorf("tenant %q finds %q in the guest", tenant, got)
				}
			}
		})
	}
	all.Wait()
}

// Loading serves no tenant: what a tenant stored does not get into the image, from
// which all are served.
func TestLoadServesNoTenant(t *testing.T) {
	for _, state := range []host.State{host.StateReset, host.StateFresh} {
		h := newHost(t, host.Config{})
		kvDo(t, loadKV(t, h, host.PluginConfig{}), "a", "set", "loaded=A")
		ctx := host.WithTenant(t.Context(), "a")
		p, err := h.Load(ctx, fixture(t, "foreign-kv").Spec, host.PluginConfig{State: state, Grants: host.Grants{KV: &host.KVGrant{}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := kvDo(t, p, "b", "kept", ""); got != "l" {
			t.Errorf("%s: init kept %q, want the beginning of what an earlier init stored", state, got)
		}
		if got := kvDo(t, p, "", "get", "loaded"); got != "loaded" {
			t.Errorf("%s: init stored %q for the default tenant", state, got)
		}
		if got := kvDo(t, p, "a", "get", "loaded"); got != "A" {
			t.Errorf("%s: init changed what the tenant stored to %q", state, got)
		}
	}
}

// A tenant that is forgotten has nothing in any plugin; the others keep all.
func TestForgetTenant(t *testing.T) {
	h := newHost(t, host.Config{})
	plugins := []*host.Plugin{loadKV(t, h, host.PluginConfig{}), loadKV(t, h, host.PluginConfig{Name: "other"})}
	for _, forgotten := range []string{"a", ""} {
		for _, p := range plugins {
			for _, tenant := range []string{"", "a", "b"} {
				kvDo(t, p, tenant, "set", "key=value")
			}
		}
		if err := h.ForgetTenant(t.Context(), forgotten); err != nil {
			t.Error(err)
		}
		for _, p := range plugins {
			for tenant, want := range map[string]string{forgotten: "", "b": "value"} {
				if got := kvDo(t, p, tenant, "get", "key"); got != want {
					t.Errorf("%q is forgotten: %s finds %q for %q", forgotten, p.Name(), got, tenant)
				}
			}
		}
	}
}

// A value for which the host has no room is refused with a status of its own, and the log says
// why.
func TestKVMemoryIsBounded(t *testing.T) {
	h := newHost(t, host.Config{KVMemory: 3000})
	p := loadKV(t, h, host.PluginConfig{})
	kvDo(t, p, "a", "set", "key="+strings.Repeat(".", 900))
	_, err := kvTry(t.Context(), p, "b", "set", "key="+strings.Repeat(".", 900))
	if perr := checkReason(t, err, abi.ReasonGuestError); !strings.Contains(perr.Error(), "status 2") || !strings.Contains(perr.Log, "raise its KVMemory") {
		t.Errorf("error %v, log %q", perr, perr.Log)
	}
	if err := h.ForgetTenant(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	kvDo(t, p, "b", "set", "key="+strings.Repeat(".", 900))
}

// Tenants that are served at once do not see each other's values, nor do those of
// whom one is forgotten all the time.
func TestTenantsAtOnce(t *testing.T) {
	h := newHost(t, host.Config{})
	p := loadAllops(t, h, host.PluginConfig{
		Grants: host.Grants{KV: &host.KVGrant{}, Services: []string{manifest.ServiceCountTokens}}, Limits: host.Limits{Instances: 2},
	})
	s, err := newStep(p, abi.OpRetrieve, host.OperationOptions{Settings: map[string]any{"mode": "kv"}})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() {
			tenant := fmt.Sprint("tenant ", n)
			ctx, before := host.WithTenant(t.Context(), tenant), "nothing"
			for i := range 50 {
				text := fmt.Sprintf("%s, %d %s", tenant, i, strings.Repeat("x", 500)) // two do not fit into one quota
				items, err := s.Run(ctx, &abi.Query{Text: text}, nil)
				if err != nil || !strings.HasPrefix(items[0].Content, "before: "+before+" (") {
					t.Errorf("%s finds %.80v, error %v; want %.80s", tenant, items, err, before)
					return
				}
				if before = text; n == 0 {
					if err := h.ForgetTenant(t.Context(), tenant); err != nil {
						t.Error(err)
					}
					before = "nothing"
				}
			}
		})
	}
	all.Wait()
}

// A function of the embedder knows whose call it serves, and calls plugins for the
// same tenant.
func TestFunctionKnowsTheTenant(t *testing.T) {
	var kv *host.Plugin
	greet := host.Function{
		Module: host.UserModule, Name: "greet", Params: []abi.ValueType{abi.I64}, Results: []abi.ValueType{abi.I64},
		Call: func(ctx context.Context, g *host.Guest, s []uint64) error {
			r, err := kv.Call(ctx, "get", []byte("name"))
			if err != nil {
				return err
			}
			s[0], err = g.Put([]byte(g.Tenant() + " is " + string(r.Output)))
			return err
		},
	}
	h := newHost(t, host.Config{Functions: []host.Function{calc, greet}})
	kv = loadKV(t, h, host.PluginConfig{})
	p := load(t, h, "user-functions", host.PluginConfig{Grants: host.Grants{Functions: []string{"greet"}}})
	for tenant, name := range map[string]string{"a": "Ada", "b": "Bob", "": "nobody"} {
		kvDo(t, kv, tenant, "set", "name="+name)
	}
	for tenant, want := range map[string]string{"a": "a is Ada", "b": "b is Bob", "": "default is nobody"} {
		if got := kvDo(t, p, tenant, "greet", ""); got != want {
			t.Errorf("tenant %q is greeted %q, want %q", tenant, got, want)
		}
	}
}
