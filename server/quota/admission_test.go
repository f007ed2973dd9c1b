package quota

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/server"
)

var _ server.Admission = (*Admission)(nil)

// Only what runs a build waits in the queue, and its place is free again in the end.
func TestAdmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Options{Queue: QueueOptions{Builds: 1}})
		build := server.Cost{Action: "build", Scope: server.ScopeBuild, Bytes: 10}
		release, err := a.Admit(t.Context(), acme, build)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []server.Cost{
			{Action: "listEvals", Scope: server.ScopeBuild}, {Action: "getFact", Scope: server.ScopeMemoryRead},
			{Action: "addFact", Scope: server.ScopeMemoryWrite, Bytes: 1 << 20},
		} {
			free, err := a.Admit(t.Context(), acme, c)
			if err != nil {
				t.Fatalf("%s: %v", c.Action, err)
			}
			free(server.Usage{})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Admit(ctx, acme, build); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a second build: %v", err)
		}
		release(server.Usage{})
		if release, err = a.Admit(t.Context(), acme, build); err != nil {
			t.Fatal(err)
		}
		release(server.Usage{})
		time.Sleep(time.Second)
		a.queue.isEmpty(t)
	})
}

// A build that is refused by the queue does not count as one that runs.
func TestRefusedBuildsDoNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Options{
			Queue:  QueueOptions{Builds: 1, Bytes: 10},
			Limits: func(server.Principal) (Limits, Limits) { return Limits{ConcurrentBuilds: 2}, Limits{} },
		})
		build := server.Cost{Action: "build", Scope: server.ScopeBuild, Bytes: 100}
		release, err := a.Admit(t.Context(), acme, build)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := a.Admit(t.Context(), acme, build); refusal(t, err).Status != http.StatusServiceUnavailable {
				t.Fatal(err)
			}
		}
		release(server.Usage{})
	})
}

// Documents that do not fit beside what the collections have are refused, and those that go are not.
func TestCollectionLimits(t *testing.T) {
	has := int64(900)
	a := New(Options{
		Limits: func(server.Principal) (Limits, Limits) {
			return Limits{CollectionBytes: 2000}, Limits{CollectionBytes: 1000}
		},
		Collected: func(context.Context, string) (int64, error) { return has, nil },
	})
	send := func(action string, size int64) error {
		release, err := a.Admit(t.Context(), acme, server.Cost{Action: action, Scope: server.ScopeCollectionsWrite, Bytes: size})
		if err == nil {
			release(server.Usage{})
		}
		return err
	}
	if err := send("addDocuments", 100); err != nil {
		t.Error(err)
	}
	if r := refusal(t, send("addDocuments", 101)); r.Status != http.StatusForbidden || r.Reason != "collections_full" {
		t.Errorf("%+v", r)
	}
	for _, action := range []string{"deleteDocument", "getJob", "listJobs", "cancelJob"} {
		if err := send(action, 0); err != nil {
			t.Errorf("%s: %v", action, err)
		}
	}
}

func TestMemoryLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		records, bytes, counted := int64(0), int64(0), 0
		a := New(Options{
			Limits: func(server.Principal) (Limits, Limits) {
				return Limits{MemoryRecords: 10, MemoryBytes: 1000}, Limits{MemoryBytes: 500}
			},
			Stored: func(_ context.Context, tenant string) (int64, int64, error) {
				if tenant != "acme" {
					t.Errorf("tenant %q", tenant)
				}
				counted++
				return records, bytes, nil
			},
		})
		add := func(action string, size int64) error {
			release, err := a.Admit(t.Context(), acme, server.Cost{Action: action, Scope: server.ScopeMemoryWrite, Bytes: size})
			if err == nil {
				release(server.Usage{})
			}
			return err
		}
		for range 10 { // what is added counts at once
			if err := add("addFact", 10); err != nil {
				t.Fatal(err)
			}
		}
		if counted != 1 {
			t.Errorf("the store was asked %d times", counted)
		}
		if r := refusal(t, add("addFact", 10)); r.Status != http.StatusForbidden || r.Reason != "memory_full" {
			t.Errorf("%+v", r)
		}
		for _, action := range []string{"deleteFact", "forgetFacts"} {
			if err := add(action, 10); err != nil {
				t.Errorf("%s of a full memory: %v", action, err)
			}
		}
		records, bytes = 5, 450
		if err := add("addTurns", 50); err != nil {
			t.Errorf("after a deletion: %v", err)
		}
		if err := add("addTurns", 51); refusal(t, err).Message != "the memory of the tenant is full: it may have 500 bytes" {
			t.Errorf("the limit of the key: %v", err)
		}
	})
}
