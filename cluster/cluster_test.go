package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

// box is a host that notes what it was told to load.
type box struct {
	mu                sync.Mutex
	stable, candidate string // configurations
	keys              string
	refuses           string // a configuration that it cannot load
}

func (b *box) Follow(_ context.Context, stable, candidate *Documents) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.candidate = ""
	for _, d := range []*Documents{stable, candidate} {
		if d != nil && string(d.Config) == b.refuses {
			return errors.New("no such plugin")
		}
	}
	if stable != nil {
		b.stable = string(stable.Config)
	}
	if candidate != nil {
		b.candidate = string(candidate.Config)
	}
	return nil
}

func (b *box) Keys(data []byte) error {
	b.keys = string(data)
	return nil
}

// world is some hosts at one store, with a clock that moves when a test says so.
type world struct {
	t     *testing.T
	s     store.Store
	now   time.Time
	hosts []*Follower
	boxes []*box
	dirs  []string
}

func newWorld(t *testing.T, s store.Store, n int) *world {
	w := &world{t: t, s: s, now: time.Now()}
	for range n {
		w.dirs = append(w.dirs, t.TempDir())
	}
	w.start()
	return w
}

// start starts all hosts anew.
func (w *world) start() {
	w.hosts, w.boxes = nil, nil
	for i, dir := range w.dirs {
		skew := time.Duration(i) * time.Hour
		f := NewFollower(FollowerOptions{ID: fmt.Sprintf("h%d", i), Dir: dir, Store: w.s, Now: func() time.Time { return w.now.Add(skew) }})
		b := &box{}
		docs, keys, err := f.Begin(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if docs != nil {
			b.stable = string(docs.Config)
		}
		b.keys = string(keys)
		w.hosts, w.boxes = append(w.hosts, f), append(w.boxes, b)
	}
}

// poll lets all hosts but some poll, and the time pass.
func (w *world) poll(times int, but ...int) {
	for range times {
		w.now = w.now.Add(DefaultPoll)
		for i, f := range w.hosts {
			if !slices.Contains(but, i) {
				f.Poll(w.t.Context(), w.boxes[i])
			}
		}
	}
}

func (w *world) begin(text string, bounds Bounds) *Desired {
	w.t.Helper()
	d, err := Begin(w.t.Context(), w.s, Start{Config: []byte(text), Lock: []byte("lock of " + text), Every: time.Minute, Bounds: bounds, Who: "test"})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) desired() *Desired {
	w.t.Helper()
	d, err := Read(w.t.Context(), w.s)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) builds(n int, candidateFails bool) {
	for i := range n {
		f := w.hosts[i%len(w.hosts)]
		f.Count(false, false, 10*time.Millisecond, 1e6)
		f.Count(true, candidateFails, 10*time.Millisecond, 1e6)
	}
}

// agree fails unless all hosts serve what the store says.
func (w *world) agree(stable, candidate string, share int) {
	w.t.Helper()
	d := w.desired()
	for i, b := range w.boxes {
		if b.stable != stable || b.candidate != candidate || d.Share() != share {
			w.t.Errorf("host %d serves %q and %q at %d %%, want %q and %q at %d %%; %+v", i, b.stable, b.candidate, d.Share(), stable, candidate, share, d)
		}
	}
}

// stores are those that hosts can share.
func stores(t *testing.T) map[string]store.Store {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return map[string]store.Store{"memory": store.NewMemory(), "sqlite": s}
}

// A good candidate gets all conversations step by step, and is then the stable version of all hosts.
func TestPromotion(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, s, 3)
			w.poll(1)
			w.agreeOwn()
			w.begin("one", Bounds{})
			w.poll(1)
			w.agree("one", "", 0)
			w.begin("two", Bounds{Least: 60})
			if _, err := Begin(t.Context(), s, Start{Config: []byte("three")}); !errors.Is(err, ErrNotNow) {
				t.Errorf("a second rollout: %v", err)
			}
			shares := []int{}
			for range 400 {
				w.poll(1)
				w.builds(30, false)
				if share := w.desired().Share(); len(shares) == 0 || shares[len(shares)-1] != share {
					shares = append(shares, share)
				}
				if w.desired().Phase == Settled {
					break
				}
			}
			w.poll(1)
			if fmt.Sprint(shares) != "[0 1 10 50 100 0]" && fmt.Sprint(shares) != "[1 10 50 100 0]" {
				t.Errorf("the shares were %v", shares)
			}
			w.agree("two", "", 0)
			if d := w.desired(); d.Outcome != Promoted || d.Numbers == nil || d.Numbers.Candidate.Builds < 60 {
				t.Errorf("%+v", d)
			}
		})
	}
}

func (w *world) agreeOwn() {
	w.t.Helper()
	if d := w.desired(); d != nil {
		w.t.Errorf("%+v", d)
	}
}

// A candidate that fails is taken back on all hosts, with the numbers. It is never taken back before the
// number of builds that the bounds say.
func TestReturn(t *testing.T) {
	w := newWorld(t, store.NewMemory(), 3)
	w.begin("one", Bounds{})
	w.poll(1)
	w.begin("two", Bounds{Least: 100})
	w.poll(3)
	w.builds(99, true)
	w.poll(3)
	w.agree("one", "two", 1)
	w.builds(100, true)
	w.poll(3)
	w.agree("one", "", 0)
	if d := w.desired(); d.Outcome != Reverted || len(d.Numbers.Beyond) != 1 || !strings.HasPrefix(d.Why, "failures: 1") {
		t.Errorf("%+v", d)
	}
}

// A candidate that one host cannot load is taken back before it gets any conversation.
func TestCandidateThatCannotBeLoaded(t *testing.T) {
	w := newWorld(t, store.NewMemory(), 3)
	w.begin("one", Bounds{})
	w.poll(1)
	w.boxes[2].refuses = "two"
	w.begin("two", Bounds{})
	w.poll(4)
	w.agree("one", "", 0)
	if d := w.desired(); d.Outcome != Reverted || !strings.Contains(d.Why, "h2 cannot load the candidate: no such plugin") || d.Generation != 3 {
		t.Errorf("%+v", d)
	}
}

// A host that cannot reach the store keeps what it has, is late after 16 seconds, does not hold the others
// up, and follows when it is back. Its clock, which is hours off, does not matter.
func TestPartition(t *testing.T) {
	w := newWorld(t, store.NewMemory(), 3)
	w.begin("one", Bounds{})
	w.poll(1)
	w.begin("two", Bounds{Least: 1})
	w.poll(1, 0) // the host that leads is gone
	if d := w.desired(); d.Share() != 0 {
		t.Errorf("a share of %d without the host", d.Share())
	}
	w.poll(20, 0)
	if w.boxes[0].stable != "one" || w.boxes[0].candidate != "" || w.hosts[0].Choose("t", "c") {
		t.Errorf("%+v", w.boxes[0])
	}
	if d := w.desired(); d.Share() != 1 {
		t.Errorf("a share of %d with two of three hosts", d.Share())
	}
	st, err := ReadStatus(t.Context(), w.s, 0)
	if err != nil || st.Hosts[0].State != Late || st.Hosts[1].State != Current || st.Leader == "h0" || st.Leader == "" || st.Share != 1 || st.Hosts[0].Generation != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	for range 200 {
		w.builds(30, false)
		w.poll(1, 0)
	}
	if st, err = ReadStatus(t.Context(), w.s, 0); err != nil || st.Desired.Phase != Settled || len(st.Versions) != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	w.poll(1)
	w.agree("two", "", 0)
	// Nobody leads: the store alone does not say so, watching does.
	if st, err = ReadStatus(t.Context(), w.s, 2*watchEvery); err != nil || st.Leader != "" || st.Hosts[1].State != Late {
		t.Errorf("%+v, %v", st, err)
	}
}

// Two hosts with different versions are seen as split.
func TestSplitIsSeen(t *testing.T) {
	w := newWorld(t, store.NewMemory(), 2)
	w.begin("one", Bounds{})
	w.poll(1)
	w.begin("two", Bounds{})
	_, err := Change(t.Context(), w.s, "me", "quick", func(d *Desired) error { d.Step = 4; return Next(d) })
	if err != nil {
		t.Fatal(err)
	}
	w.poll(1, 1)
	st, err := ReadStatus(t.Context(), w.s, 0)
	if err != nil || len(st.Versions) != 2 || st.Hosts[0].State != Current || st.Hosts[1].State != Behind {
		t.Errorf("%+v, %v", st, err)
	}
}

// A conversation that has the candidate keeps it while the share grows, on every host, and the shares are
// kept.
func TestChoose(t *testing.T) {
	w := newWorld(t, store.NewMemory(), 2)
	w.begin("one", Bounds{})
	w.poll(1)
	w.begin("two", Bounds{})
	w.poll(3)
	had := map[string]bool{}
	for _, share := range DefaultSteps() {
		if d := w.desired(); d.Share() != share {
			t.Fatalf("share %d, want %d", d.Share(), share)
		}
		n := 0
		for i := range 5000 {
			c := fmt.Sprint("conversation ", i)
			has := w.hosts[0].Choose("acme", c)
			if has != w.hosts[1].Choose("acme", c) || had[c] && !has {
				t.Fatalf("%s has the candidate: %v, before: %v", c, has, had[c])
			}
			if had[c] = has; has {
				n++
			}
		}
		if want := 50 * share; n < want*7/10 || n > want*13/10 {
			t.Errorf("%d of 5000 conversations at %d %%", n, share)
		}
		if share < 100 {
			if _, err := Change(t.Context(), w.s, "me", "", Next); err != nil {
				t.Fatal(err)
			}
			w.poll(1)
		}
	}
}

// What somebody says goes: pause, resume, abort, and what cannot be.
func TestChanges(t *testing.T) {
	w := newWorld(t, store.NewMemory(), 1)
	ctx := t.Context()
	if _, err := Change(ctx, w.s, "", "", Pause); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("before the first: %v", err)
	}
	w.begin("one", Bounds{})
	if _, err := Change(ctx, w.s, "", "", Abort); !errors.Is(err, ErrNotNow) {
		t.Errorf("abort of nothing: %v", err)
	}
	w.begin("two", Bounds{Least: 1})
	w.poll(2)
	if _, err := Change(ctx, w.s, "me", "lunch", Pause); err != nil {
		t.Fatal(err)
	}
	w.builds(5, false)
	w.poll(100)
	w.agree("one", "two", 1)
	if _, err := Change(ctx, w.s, "me", "", Resume); err != nil {
		t.Fatal(err)
	}
	w.poll(40)
	w.agree("one", "two", 10)
	if _, err := Change(ctx, w.s, "me", "no", Abort); err != nil {
		t.Fatal(err)
	}
	w.poll(1)
	w.agree("one", "", 0)
	for _, o := range []Start{
		{Config: []byte("one"), Lock: []byte("lock of one")}, {Config: []byte("x"), Steps: []int{50, 10}}, {Config: []byte("x"), Steps: []int{101}}, {Config: []byte("x"), Steps: []int{}},
		{Config: []byte("x"), Bounds: Bounds{Latency: 0.5}}, {Config: []byte("x"), Bounds: Bounds{Failures: 2}}, {Config: []byte("x"), Bounds: Bounds{Error: 1}},
		{Config: []byte("x"), Every: -1}, {Config: make([]byte, MaxDocument+1)}, {Config: []byte("x"), Bounds: Bounds{Least: -1}},
	} {
		if _, err := Begin(ctx, w.s, o); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.60v: %v", o, err)
		}
	}
}

// The keys of one host are those of all after one poll.
func TestKeys(t *testing.T) {
	w := newWorld(t, store.NewMemory(), 3)
	w.begin("one", Bounds{})
	for i := range 3 {
		err := EditKeys(t.Context(), w.s, func(old []byte) ([]byte, error) { return append(old, byte('a'+i)), nil })
		if err != nil {
			t.Fatal(err)
		}
		w.begin(fmt.Sprint("version ", i), Bounds{})
		w.poll(1)
		_, err = Change(t.Context(), w.s, "", "", Abort)
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, b := range w.boxes {
		if b.keys != "abc" {
			t.Errorf("host %d has the keys %q", i, b.keys)
		}
	}
	stop := errors.New("stop")
	if err := EditKeys(t.Context(), w.s, func([]byte) ([]byte, error) { return nil, stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	// Editors do not lose what others have written.
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				if err := EditKeys(context.Background(), w.s, func(old []byte) ([]byte, error) { return append(old, '.'), nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	w.poll(1)
	if w.boxes[0].keys != "abc"+strings.Repeat(".", 40) {
		t.Errorf("the keys are %q", w.boxes[0].keys)
	}
	recs, err := w.s.Read(t.Context(), key("document"), 0, 0)
	if err != nil || len(recs) > 6 { // keys, stable, and the last candidate, with locks
		t.Errorf("%d documents are kept, %v", len(recs), err)
	}
}
