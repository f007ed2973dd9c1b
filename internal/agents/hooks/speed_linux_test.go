package hooks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/agents/learned"
	"github.com/anchor-host/anchor-host/internal/agents/note"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/internal/agents/repo"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/builtin"
	"github.com/anchor-host/anchor-host/store"
)

// processor is the processor time of this process.
func processor() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

const (
	speedFacts  = 100_000
	speedChunks = 100_000
	ownFacts    = 1000 // of the project that is asked
)

// TestHookSpeed measures hooks with 100,000 facts and 100,000 chunks: as a process, beside the start of the same
// program, and at the socket of a running service. ANCHOR_HOOK_BENCH names the program.
func TestHookSpeed(t *testing.T) {
	program := os.Getenv("ANCHOR_HOOK_BENCH")
	if program == "" {
		t.Skip("make bench-hook names the program")
	}
	home := t.TempDir()
	if len(home) > 60 { // a socket has a short path
		var err error
		if home, err = os.MkdirTemp("", "hook"); err != nil { //nolint:usetesting // t.TempDir() is longer
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(home) })
	}
	work := filepath.Join(home, "project")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, "data", "anchor-host", "store.db")
	began := time.Now()
	s := seed(t, path, work, ownFacts, speedFacts, speedChunks)
	defer s.Close()
	t.Logf("seeded in %.0f s", time.Since(began).Seconds())
	event := func(i int) []byte {
		return fmt.Appendf(nil, `{"hook_event_name": "UserPromptSubmit", "session_id": "s%d", "cwd": %q, "prompt": %q}`, i, work, "how do "+words(rand.New(rand.NewPCG(7, uint64(i))), 8)+" work?")
	}
	run := func(stdin []byte, args ...string) taken {
		cmd := exec.Command(program, args...)
		cmd.Env, cmd.Dir, cmd.Stdin = []string{"HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(home, "data")}, work, bytes.NewReader(stdin)
		began := time.Now()
		out, err := cmd.Output()
		if took := time.Since(began); err == nil && len(out) > 0 {
			return taken{took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
		}
		log, _ := ReadLog(filepath.Join(filepath.Dir(path), "hooks.log"), 1)
		t.Fatalf("%v: %v %s %+v", args, err, out, log)
		return taken{}
	}
	const rounds = 60
	var start, alone, served, asked []taken
	for i := range rounds {
		start = append(start, run(nil, "version"))
		alone = append(alone, run(event(i), "hook", "claude"))
	}
	k, err := Known(s, store.DefaultTenant, "", false)
	if err != nil {
		t.Fatal(err)
	}
	h := &Handler{Store: s, Tenant: store.DefaultTenant, Knowledge: k, Settings: Settings{Timeout: time.Minute}}
	socket := SocketPath(path)
	closed, err := Listen(t.Context(), socket, HTTP(func(*http.Request) (*Handler, error) { return h, nil }, false), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer closed()
	if _, _, err := Ask(t.Context(), socket, Request{Client: Claude, Body: event(999)}); err != nil { // reads the index
		t.Fatal(err)
	}
	for i := range rounds {
		served = append(served, run(event(2000+i), "hook", "claude"))
	}
	for i := range 4 * rounds {
		began, before := time.Now(), processor()
		answer, report, err := Ask(t.Context(), socket, Request{Client: Claude, Body: event(1000 + i)})
		asked = append(asked, taken{time.Since(began), processor() - before})
		if err != nil || len(answer) == 0 || report.Error != "" {
			t.Fatalf("%v %+v", err, report)
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("load %s", load)
	for _, m := range []struct {
		what  string
		times []taken
		most  float64 // of the start, in processor time
	}{
		{"start of the program", start, 1}, {"process without a service", alone, 2}, {"process with a service", served, 1.5},
		{"at the socket", asked, 0.3},
	} {
		ratio := float64(at(m.times, 50, ofProcessor)) / float64(at(start, 50, ofProcessor))
		t.Logf("%s: p50 %v, p99 %v; processor p50 %v, p99 %v; %.2f of the start", m.what, at(m.times, 50, ofClock), at(m.times, 99, ofClock), at(m.times, 50, ofProcessor), at(m.times, 99, ofProcessor), ratio)
		if ratio > m.most {
			t.Errorf("%s: %.2f times the processor time of the start, want at most %.1f", m.what, ratio, m.most)
		}
	}
}

// taken is how long something took, by the clock and in processor time. The second says more on a busy machine.
type taken struct{ clock, processor time.Duration }

func ofClock(t taken) time.Duration     { return t.clock }
func ofProcessor(t taken) time.Duration { return t.processor }

// at returns a percentile.
func at(times []taken, percent int, of func(taken) time.Duration) time.Duration {
	list := make([]time.Duration, len(times))
	for i, t := range times {
		list[i] = of(t)
	}
	slices.Sort(list)
	return list[min(len(list)-1, len(list)*percent/100)].Round(10 * time.Microsecond)
}

func words(r *rand.Rand, n int) string {
	var b bytes.Buffer
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "w%d", int(20_000*r.Float64()*r.Float64()*r.Float64()))
	}
	return b.String()
}

// A prompt at the socket of a running host costs a bounded number of times what a request costs there that does
// nothing, in processor time of this process, so that it does not depend on what else the machine does.
func TestPromptsAtTheSocketAreCheap(t *testing.T) {
	home, err := os.MkdirTemp("", "hook") //nolint:usetesting // a socket has a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	work, path := filepath.Join(home, "project"), filepath.Join(home, "data", "store.db")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	s := seed(t, path, work, 50, 500, 2000)
	defer s.Close()
	k, err := Known(s, store.DefaultTenant, "", false)
	if err != nil {
		t.Fatal(err)
	}
	knows := &Handler{Store: s, Tenant: store.DefaultTenant, Knowledge: k, Settings: Settings{Timeout: time.Minute}}
	sessions := 0 // each prompt is of another, so that nothing is left out as seen before
	cost := func(socket string, h *Handler) time.Duration {
		t.Helper()
		closed, err := Listen(t.Context(), socket, HTTP(func(*http.Request) (*Handler, error) { return h, nil }, false), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer closed()
		var times []taken
		for i := range 60 {
			sessions++
			before := processor()
			body := fmt.Appendf(nil, `{"hook_event_name": "UserPromptSubmit", "session_id": "s%d", "cwd": %q, "prompt": %q}`, sessions, work, "how do "+words(rand.New(rand.NewPCG(7, uint64(i))), 8)+" work?")
			_, report, err := Ask(t.Context(), socket, Request{Client: Claude, Body: body})
			if err != nil || report.Error != "" || h == knows && len(report.Added) == 0 {
				t.Fatalf("%v %+v", err, report)
			}
			times = append(times, taken{processor: processor() - before})
		}
		return at(times, 25, ofProcessor)
	}
	best := math.Inf(1) // others on the machine empty the processor's caches, so one good measurement counts
	for try := 0; try < 5 && best > maxPrompt; try++ {
		plain, prompt := cost(filepath.Join(home, "plain.sock"), &Handler{}), cost(filepath.Join(home, "hooks.sock"), knows)
		t.Logf("a request that does nothing %v, a prompt %v of processor time", plain, prompt)
		best = min(best, float64(prompt)/float64(plain))
	}
	if best > maxPrompt {
		t.Errorf("a prompt costs %.1f times a request that does nothing, want at most %d", best, maxPrompt)
	}
}

// maxPrompt is what a prompt may cost at a small store, in requests that do nothing. It was seen from
// 42 to 112 as others worked beside: their caches hold little of the store, but all that an empty request needs.
const maxPrompt = 150

// seed fills a store: notes of many projects, own of which are of the one at work, and chunks of its files.
func seed(t *testing.T, path, work string, own, facts, chunks int) store.Store {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Dir(path), 0o700))
	s, err := agentstore.Open(ctx, path, "normal")
	must(err)
	p, err := project.Identify(ctx, work)
	must(err)
	r := rand.New(rand.NewPCG(1, 2))
	m, err := learned.Open(s, learned.Options{})
	must(err)
	for range own {
		_, err := m.Learn(ctx, p, learned.Candidate{Text: "The part " + words(r, 12) + " is done.", Source: learned.User})
		must(err)
	}
	for of := range (facts - own) / 500 {
		recs := make([]store.Record, 500)
		for i := range recs {
			recs[i] = store.Record{ID: fmt.Sprintf("n-%d", i), Data: fmt.Appendf(nil, `{"kind": "fact", "text": %q, "status": "accepted", "source": "user", "project": "p-%d", "at": "2026-01-02T03:04:05Z"}`, words(r, 14), of)}
		}
		_, err := s.Append(ctx, store.Key{Tenant: store.DefaultTenant, Kind: note.KindNote, Stream: learned.Stream(fmt.Sprint("p-", of), "")}, recs...)
		must(err)
	}
	files, err := repo.Open(s, p, repo.Options{})
	must(err)
	index, _ := agentstore.IndexOf(s)
	model, err := builtin.Embedder().Model(ctx)
	must(err)
	must(index.Create(ctx, files.Collection(), retrieve.Settings{Model: model}))
	for of := range chunks / 500 {
		docs := make([]retrieve.Document, 20)
		for i := range docs {
			docs[i].ID = fmt.Sprintf("dir%d/file%d.go", of, i)
			for range 25 {
				vector := make([]float32, model.Dimension)
				for j := range vector {
					vector[j] = float32(r.NormFloat64())
				}
				docs[i].Chunks = append(docs[i].Chunks, retrieve.Chunk{Text: words(r, 60), Vector: vector})
			}
		}
		must(index.Upsert(ctx, files.Collection(), docs...))
	}
	return s
}
