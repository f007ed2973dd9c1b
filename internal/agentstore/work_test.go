package agentstore_test

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

// Changes that several make of one plan are all there in the end, in every store.
func TestPlansAreChangedOneByOne(t *testing.T) {
	file, err := agentstore.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), "normal")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for name, s := range map[string]store.Store{"memory": store.NewMemory(), "sqlite": file} {
		t.Run(name, func(t *testing.T) {
			const writers = 6
			run := agentstore.Run{Store: s, Tenant: "t", ID: "r"}
			_, err := run.ChangePlan(t.Context(), func(before *frames.Plan) (*frames.Plan, error) {
				if before != nil {
					t.Errorf("a plan before the first: %+v", before)
				}
				plan, err := frames.NewPlan(frames.Actor{Kind: frames.Agent, ID: "a"}, time.Time{})
				if err == nil {
					plan.Steps = append(plan.Steps, frames.NewStep("s", time.Time{}))
				}
				return plan, err
			})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for i := range writers {
				wg.Go(func() {
					mine := agentstore.Run{Store: s, Tenant: "t", ID: "r"}
					_, err := mine.ChangePlan(t.Context(), func(p *frames.Plan) (*frames.Plan, error) {
						p.Steps[0].Produce(uint64(i))
						return p, nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			plans, err := run.Plans(t.Context())
			if err != nil || len(plans) != 1 || len(plans[0].Steps[0].OFrames) != writers {
				t.Errorf("plans %+v, %v", plans, err)
			}
		})
	}
}

func TestWorkOfARunFails(t *testing.T) {
	s := store.NewMemory()
	run := agentstore.Run{Store: s, Tenant: "t", ID: "r"}
	want := errors.New("no")
	if _, err := run.ChangeIntent(t.Context(), func(*frames.Intent) (*frames.Intent, error) { return nil, want }); !errors.Is(err, want) {
		t.Errorf("a change that fails: %v", err)
	}
	for kind, read := range map[string]func() error{
		agentstore.KindIntent:   func() error { _, err := run.Intents(t.Context()); return err },
		agentstore.KindPlan:     func() error { _, err := run.Plans(t.Context()); return err },
		agentstore.KindSnapshot: func() error { _, err := run.Snapshots(t.Context()); return err },
	} {
		key := store.Key{Tenant: "t", Kind: kind, Stream: "r"}
		if _, err := s.Append(t.Context(), key, store.Record{Data: []byte(`{"odd": 1}`)}); err != nil {
			t.Fatal(err)
		}
		if err := read(); err == nil {
			t.Errorf("%s: a record that is none is read", kind)
		}
	}
	if _, err := run.ChangePlan(t.Context(), func(p *frames.Plan) (*frames.Plan, error) { return p, nil }); err == nil {
		t.Error("a plan that is none is changed")
	}
}
