package host_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// Each limit takes Unlimited and None as it says, and no other negative number. What would
// leave memory or time without a bound is refused with that reason.
func TestLimitsTakeWordsWhereTheySay(t *testing.T) {
	unlimited := []string{"QueueTimeout", "IdleTimeout", "Fuel", "Items", "Tokens", "Instances", "BreakAfter"}
	none := []string{"QueueTimeout", "IdleTimeout", "LogBytes", "HTTPBody", "Items", "Tokens", "MinInstances"}
	for i := range reflect.TypeFor[host.Limits]().NumField() {
		field := reflect.TypeFor[host.Limits]().Field(i).Name
		for v, ok := range map[int64]bool{0: true, 1: true, host.Unlimited: slices.Contains(unlimited, field), host.None: slices.Contains(none, field), -3: false} {
			var l host.Limits
			reflect.ValueOf(&l).Elem().Field(i).SetInt(v)
			err := l.Check()
			if (err == nil) != ok || err != nil && !errors.Is(err, host.ErrConfig) {
				t.Errorf("%s %d: %v", field, v, err)
			}
			if bounded := strings.Contains(fmt.Sprint(err), "always bounded"); err != nil && v == host.Unlimited && field != "BreakMost" && !bounded {
				t.Errorf("%s: %v does not say why", field, err)
			}
		}
	}
	for _, cfg := range []host.Config{{Memory: host.Unlimited}, {LoadMemory: host.Unlimited}, {KVMemory: host.Unlimited}, {MaxInstances: host.Unlimited}, {MaxInstances: host.None}, {ImageCache: -3}} {
		cfg.CacheDir = host.CacheOff
		if _, err := host.New(cfg); !errors.Is(err, host.ErrConfig) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// In the limits of a plugin the words are numbers, and None overrides a default.
func TestWordsInForce(t *testing.T) {
	h := newHost(t, host.Config{MaxInstances: 7, DefaultLimits: host.Limits{MinInstances: 2, LogBytes: host.None, BreakAfter: host.Unlimited}})
	l := load(t, h, "keep-first", host.PluginConfig{Limits: host.Limits{Instances: host.Unlimited, MinInstances: host.None, Items: host.Unlimited,
		Fuel: host.Unlimited, QueueTimeout: host.None}}).Limits()
	if l.Instances != 7 || l.MinInstances != 0 || l.LogBytes != 0 || l.Items != abi.MaxRows || l.QueueTimeout != 0 || l.Fuel < 1<<59 || l.BreakAfter < 1<<31-1 ||
		l.Tokens != host.DefaultTokens {
		t.Errorf("%+v", l)
	}
}

// Items None and Tokens None let a call add nothing, and what it keeps does not count.
func TestNoneMayBeAdded(t *testing.T) {
	for what, limits := range map[string]host.Limits{"items": {Items: host.None}, "tokens": {Tokens: host.None}} {
		p := loadAllops(t, newHost(t, host.Config{}), host.PluginConfig{Limits: limits})
		retrieve, err := newStep(p, abi.OpRetrieve, host.OperationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = retrieve.Run(t.Context(), &abi.Query{Text: "q"}, nil)
		var failed *host.PluginError
		if !errors.As(err, &failed) || failed.Code != abi.ReasonOutputTooLarge || !strings.Contains(err.Error(), what+", allowed 0") {
			t.Errorf("%s: %v", what, err)
		}
		filter, err := newStep(p, abi.OpFilter, host.OperationOptions{Settings: map[string]any{"min": 0.01}})
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := filter.Run(t.Context(), &abi.Query{}, benchRows(3)); err != nil || len(kept) == 0 {
			t.Errorf("%s: kept %d, error %v", what, len(kept), err)
		}
	}
}

// With QueueTimeout None a call that finds all instances lent fails at once. With Unlimited
// it waits for one until its context ends.
func TestCallsThatDoNotWait(t *testing.T) {
	for wait, want := range map[time.Duration]abi.Reason{host.None: abi.ReasonBusy, host.Unlimited: abi.ReasonTimeout} {
		p := load(t, newHost(t, host.Config{}), "spin-forever", host.PluginConfig{Limits: host.Limits{Timeout: time.Minute, Instances: 1, QueueTimeout: wait}})
		filter, err := p.Operation(abi.OpFilter, host.OperationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := filter.Changes(ctx, nil, &abi.Envelope{})
			done <- err
		}()
		for _, idle := host.PoolCounts(p); idle != 0; _, idle = host.PoolCounts(p) {
			runtime.Gosched()
		}
		next, end := context.WithCancel(t.Context())
		if wait == host.Unlimited {
			next, end = context.WithTimeout(t.Context(), 50*time.Millisecond)
		}
		_, err = filter.Changes(next, nil, &abi.Envelope{})
		checkReason(t, err, want)
		end()
		cancel()
		<-done
	}
}

// A store without a quota takes more than the default, up to Config.KVMemory. KVMemory None
// leaves no room.
func TestStoreWithoutAQuota(t *testing.T) {
	large := "key=" + strings.Repeat("x", host.DefaultKVQuota)
	for memory, want := range map[int64]int{0: host.DefaultKVQuota, host.None: 0} {
		p := load(t, newHost(t, host.Config{KVMemory: memory}), "foreign-kv", host.PluginConfig{Grants: host.Grants{KV: &host.KVGrant{Quota: host.Unlimited}}})
		_, _ = kvTry(t.Context(), p, "", "set", large) // the guest traps if there is no room
		if got := kvDo(t, p, "", "get", "key"); len(got) != want {
			t.Errorf("KVMemory %d: %d bytes are stored, want %d", memory, len(got), want)
		}
	}
}

// The bounds of a folder and of a store may be lifted, and are never None.
func TestGrantsTakeUnlimited(t *testing.T) {
	dir := t.TempDir()
	grant := host.FileGrant{Host: dir, Guest: "/docs", Mode: host.ModeRW, Quota: host.Unlimited, MaxFiles: host.Unlimited}
	for _, bad := range []host.FileGrant{{Host: dir, Guest: "/docs", Mode: host.ModeRW, Quota: host.None}, {Host: dir, Guest: "/docs", MaxFiles: -5}} {
		if err := (host.Grants{Files: []host.FileGrant{bad}}).Check(); !errors.Is(err, host.ErrConfig) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if err := (host.Grants{Files: []host.FileGrant{grant}, KV: &host.KVGrant{Quota: host.Unlimited}}).Check(); err != nil {
		t.Error(err)
	}
	if err := (host.Grants{KV: &host.KVGrant{Quota: host.None}}).Check(); !errors.Is(err, host.ErrConfig) {
		t.Error(err)
	}
}
