package frames

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	actor = Actor{Kind: Agent, ID: "planner"}
)

// ticking is a clock that goes on by a second with every look.
func ticking() func() time.Time {
	at := epoch
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}

func newPipeline(t testing.TB, cfg Config) *Pipeline {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return epoch }
	}
	p, err := New(context.Background(), actor, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func push(t testing.TB, p *Pipeline, kind Kind, summary string) uint64 {
	t.Helper()
	id, err := p.Push(context.Background(), Frame{Kind: kind, Summary: summary})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func pushWeighing(t testing.TB, p *Pipeline, kind Kind, tokens uint64) uint64 {
	t.Helper()
	id, err := p.Push(context.Background(), Frame{Kind: kind, Summary: "s", TokenEstimate: Tokens(tokens)})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func wantIDs(t *testing.T, got []uint64, want ...uint64) {
	t.Helper()
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("frames %v, want %v", got, want)
	}
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// asAny is the JSON form of a value as maps and slices.
func asAny(t testing.TB, v any) (out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(toJSON(t, v)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
