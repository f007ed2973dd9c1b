package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

func TestPluginConfigRefused(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, tc := range []struct {
		name string
		cfg  host.PluginConfig
		want string
	}{
		{"engine", host.PluginConfig{Engine: "jit"}, `engine "jit": invalid configuration (want compiler or interpreter)`},
		{"lane", host.PluginConfig{Lane: "fast"}, `lane "fast": invalid configuration (want json or batch)`},
		{"lane of other hosts", host.PluginConfig{Lane: host.LaneExtism}, `lane "extism": invalid configuration (want json or batch)`},
		{"state", host.PluginConfig{State: "clean"}, `state "clean": invalid configuration (want reset, keep or fresh)`},
		{"settings", host.PluginConfig{Settings: map[string]any{"greting": "x"}}, `settings: invalid configuration: unknown key "greting" (did you mean "greeting"?)`},
		{"limit", host.PluginConfig{Limits: host.Limits{Memory: -1}}, `limit memory unlimited: invalid configuration (the memory that guests take of the host is always bounded: state the most)`},
		{"limit below", host.PluginConfig{Limits: host.Limits{Items: -3}}, `limit items -3: invalid configuration (want a number above 0, or 0 for the default, or Unlimited, -1, or None, -2)`},
		{"memory too small to start", host.PluginConfig{Limits: host.Limits{Memory: 64 << 10}}, `limits.memory 64KiB: invalid configuration (the module starts with `},
		{"mount", host.PluginConfig{Grants: host.Grants{Files: []host.FileGrant{{Host: "/no/such/dir", Guest: "/docs"}}}},
			`grants.files[0].host: /no/such/dir does not exist (create it or fix the path)`},
		{"mount of a file", host.PluginConfig{Grants: host.Grants{Files: []host.FileGrant{{Host: ".", Guest: "/other"}, {Host: "options_test.go", Guest: "/docs"}}}},
			`grants.files[1].host: options_test.go is not a directory (name a folder)`},
		{"mount path", host.PluginConfig{Grants: host.Grants{Files: []host.FileGrant{{Host: ".", Guest: "docs"}}}},
			`grants.files[0]: host ".", guest "docs": invalid configuration (want a directory and an absolute path inside the guest)`},
		{"mount mode", host.PluginConfig{Grants: host.Grants{Files: []host.FileGrant{{Host: ".", Guest: "/docs", Mode: "w"}}}},
			`grants.files[0]: mode "w": invalid configuration (want ro or rw)`},
		{"http without hosts", host.PluginConfig{Grants: host.Grants{HTTP: &host.HTTPGrant{}}}, `grants.http: no hosts: invalid configuration (name at least one)`},
		{"http host", host.PluginConfig{Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"*"}}}},
			`grants.http.hosts: invalid configuration: host "*" (want a host, with http:// before it for plain http`},
		{"http path", host.PluginConfig{Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"https://example.com/"}}}},
			`grants.http.hosts: invalid configuration: host "https://example.com/" (want a host, `},
		{"http method", host.PluginConfig{Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"example.com"}, Methods: []string{"GET, POST"}}}},
			`grants.http.methods: "GET, POST": invalid configuration (want a method, such as GET)`},
		{"service", host.PluginConfig{Grants: host.Grants{Services: []string{"count"}}}, `grants.services "count": invalid configuration (want count_tokens)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := h.Load(t.Context(), allopsSpec(t), tc.cfg)
			if !errors.Is(err, host.ErrConfig) || !strings.HasPrefix(err.Error(), `plugin "allops": `+tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v\nwant  %s", err, tc.want)
			}
		})
	}
}

func TestHostConfigRefused(t *testing.T) {
	for _, cfg := range []host.Config{{Engine: "jit"}, {MaxInstances: -1}, {DefaultLimits: host.Limits{Timeout: -time.Second}}, {DefaultLimits: host.Limits{Memory: 5 << 30}}} {
		if _, err := host.New(cfg); !errors.Is(err, host.ErrConfig) {
			t.Errorf("%+v: error %v", cfg, err)
		}
	}
}

func TestLimitsOfPlugin(t *testing.T) {
	h := newHost(t, host.Config{DefaultLimits: host.Limits{Timeout: time.Second}})
	wasm, err := os.ReadFile(filepath.Join(fixtures, "no-change", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := spec.Read("x", wasm, []byte("abi: 1\nname: x\nversion: 0.1.0\noperations: {filter: {}}\nlimits: {timeout: 10s, memory: 100MiB, output: 1MiB}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Load(t.Context(), spec, host.PluginConfig{})
	if err != nil {
		t.Fatal(err)
	}
	l := p.Limits()
	if l.Timeout != 4*time.Second || l.Memory != 100<<20 || l.Output != 1<<20 || l.Items != host.DefaultItems || l.Instances < 1 {
		t.Errorf("limits %+v", l)
	}
	if got := strings.Join(p.Notes(), "\n"); got != "asks for 10s of timeout and gets 4s, 4 times the default (set limits.timeout to grant more)" {
		t.Errorf("notes %q", got)
	}
	if p, err = h.Load(t.Context(), spec, host.PluginConfig{Limits: host.Limits{Timeout: time.Minute, Memory: 1 << 20}}); err != nil {
		t.Fatal(err)
	}
	if l := p.Limits(); l.Timeout != time.Minute || l.Memory != 1<<20 || len(p.Notes()) != 0 {
		t.Errorf("limits %+v, notes %q", l, p.Notes())
	}
}

func TestMinInstances(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, tc := range []struct{ least, most, want int }{{3, 4, 3}, {9, 2, 2}} {
		p := load(t, h, "stateful", host.PluginConfig{Limits: host.Limits{MinInstances: tc.least, Instances: tc.most}})
		if got := p.Limits().MinInstances; got != tc.want {
			t.Errorf("limit %d (want %d)", got, tc.want)
		}
		host.Settle(p)
		if _, idle := host.PoolCounts(p); idle != tc.want {
			t.Errorf("%d instances are ready (want %d)", idle, tc.want)
		}
	}
	if _, err := h.Load(t.Context(), fixture(t, "stateful").Spec, host.PluginConfig{Limits: host.Limits{MinInstances: -1}}); !errors.Is(err, host.ErrConfig) {
		t.Errorf("negative: error %v", err)
	}
}
