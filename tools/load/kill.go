package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/agentstore"
)

// kill ends the service with kill -9 while clients write, starts it again, and looks for everything
// that was acknowledged. Programs that ingest documents into the same store are killed too.
func kill(ctx context.Context, s *suite) error {
	count := s.count
	if count == 0 {
		count = 200
	}
	st, err := newSite(ctx, s, "server: {keys: keys.yaml, drain_delay: none, watch: false}\nbuilds: {records: {}}\n", "acme")
	defer st.remove()
	if err != nil {
		return err
	}
	requests, err := buildRequests(s.root)
	if err != nil {
		return err
	}
	k := &killing{site: st, requests: requests, random: rand.New(rand.NewPCG(uint64(s.seed), 0)), folder: filepath.Join(st.dir, "books")}
	if err := os.MkdirAll(k.folder, 0o755); err != nil {
		return err
	}
	v, err := st.start(ctx)
	for i := 0; i < count && err == nil; i++ {
		v, err = k.round(ctx, v, i)
	}
	if err == nil {
		err = k.whole(ctx, v)
	}
	if v != nil {
		v.kill()
	}
	if err != nil {
		return err
	}
	builds, err := k.records(ctx)
	if err != nil {
		return err
	}
	s.row("kills", fmt.Sprint(k.kills), fmt.Sprint(count), k.kills == count, "restart until ready: median %.0f ms", 1000*median(k.restarts))
	s.row("acknowledged and lost", fmt.Sprint(len(k.lost)), "0", len(k.lost) == 0, "of %d facts, %d turns, %d frames, %d ingested files; first: %v", k.sum[facts], k.sum[turns], k.sum[frames], k.files, first(k.lost))
	s.row("store damaged", fmt.Sprint(len(k.damage)), "0", len(k.damage) == 0, "checked %d times; first: %v", k.checks, first(k.damage))
	s.row("requests that failed otherwise", fmt.Sprint(len(k.failures)), "0", len(k.failures) == 0, "first: %v", first(k.failures))
	s.shown("records of builds", fmt.Sprint(builds), "", "of %d answered builds; all that are there can be read. They are written after the answer", k.sum[answered])
	s.shown("evaluations", fmt.Sprint(k.sum[evaluations]), "", "started and killed with the service; they are not kept")
	return ctx.Err()
}

func first(list []error) error {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// What clients write, and what they ask for.
const (
	facts = iota
	turns
	frames
	answered
	evaluations
	kinds
)

// killing is a service that is killed again and again.
type killing struct {
	*site
	requests [][]byte
	random   *rand.Rand
	folder   string

	kills, checks, files int
	restarts             []float64
	sum                  [kinds]int
	lost, damage         []error
	rounds               []*acknowledged

	mu       sync.Mutex // guards failures
	failures []error
}

// acknowledged is what a round was told to be stored, in the order of the answers.
type acknowledged struct {
	name  string
	mu    sync.Mutex
	texts [kinds][]string
	files []string
}

func (a *acknowledged) add(kind int, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.texts[kind] = append(a.texts[kind], text)
}

// round lets clients write, kills the service in the middle, and looks for what they were told. It
// returns the service that was started again.
func (k *killing) round(ctx context.Context, v *service, i int) (*service, error) {
	a := &acknowledged{name: fmt.Sprintf("round-%d", i)}
	k.rounds = append(k.rounds, a)
	c := v.client("acme", 16)
	working, end := context.WithCancel(ctx)
	defer end()
	var wg sync.WaitGroup
	for _, write := range []func(context.Context, *client, *acknowledged) error{
		k.addFact, k.addFact, k.addTurn, k.addTurn, k.addFrame, k.build, k.build, k.evaluate,
	} {
		wg.Go(func() { k.repeat(working, v, func() error { return write(working, c, a) }) })
	}
	wg.Go(func() { k.note(k.ingest(ctx, a, time.Duration(k.random.IntN(1500))*time.Millisecond)) })
	time.Sleep(150*time.Millisecond + time.Duration(k.random.IntN(850))*time.Millisecond)
	v.kill()
	end()
	wg.Wait()
	c.CloseIdleConnections()
	k.kills++
	for kind := range kinds {
		k.sum[kind] += len(a.texts[kind])
	}
	k.files += len(a.files)
	k.checks++
	if err := agentstore.Verify(ctx, filepath.Join(k.dir, "store.db")); err != nil {
		k.damage = append(k.damage, fmt.Errorf("after kill %d: %w", i+1, err))
	}
	begin := time.Now()
	next, err := k.start(ctx)
	if err != nil {
		return nil, fmt.Errorf("start after kill %d: %w", i+1, err)
	}
	k.restarts = append(k.restarts, time.Since(begin).Seconds())
	return next, k.look(ctx, next, a)
}

// repeat does something until it is cut or the service is gone. All other errors are failures.
func (k *killing) repeat(ctx context.Context, v *service, once func() error) {
	for ctx.Err() == nil {
		err := once()
		var later refusal
		var status *statusError
		switch {
		case err == nil, asRefusal(err, &later):
		case ctx.Err() != nil:
			return
		case errors.As(err, &status):
			k.note(err)
		default: // the connection broke, which is right if the service was killed
			select {
			case <-v.exited:
			case <-time.After(5 * time.Second):
				k.note(err)
			}
			return
		}
	}
}

func (k *killing) note(err error) {
	if err == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failures = append(k.failures, err)
}

var serial struct {
	mu sync.Mutex
	n  int
}

// unique returns a text that no other call returns.
func unique(what string) string {
	serial.mu.Lock()
	defer serial.mu.Unlock()
	serial.n++
	return fmt.Sprintf("%s number %d is written before the service is killed", what, serial.n)
}

func (k *killing) addFact(ctx context.Context, c *client, a *acknowledged) error {
	text := unique("fact")
	if err := c.call(ctx, http.MethodPost, "/v1/memory/facts", map[string]any{"content": text, "tags": []string{a.name}}, nil); err != nil {
		return err
	}
	a.add(facts, text)
	return nil
}

func (k *killing) addTurn(ctx context.Context, c *client, a *acknowledged) error {
	text := unique("turn")
	in := map[string]any{"turns": []map[string]any{{"role": "user", "content": text}}}
	if err := c.call(ctx, http.MethodPost, "/v1/conversations/"+a.name+"/turns", in, nil); err != nil {
		return err
	}
	a.add(turns, text)
	return nil
}

func (k *killing) addFrame(ctx context.Context, c *client, a *acknowledged) error {
	text := unique("frame")
	if err := c.call(ctx, http.MethodPost, "/v1/runs/"+a.name+"/frames", map[string]any{"kind": "checkpoint", "summary": text}, nil); err != nil {
		return err
	}
	a.add(frames, text)
	return nil
}

func (k *killing) build(ctx context.Context, c *client, a *acknowledged) error {
	if _, err := c.send(ctx, http.MethodPost, "/v1/builds", "application/json", k.requests[0]); err != nil {
		return err
	}
	a.add(answered, "")
	return nil
}

// evaluate starts an evaluation. One runs at a time, so most calls are refused, and wait.
func (k *killing) evaluate(ctx context.Context, c *client, a *acknowledged) error {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	parts := map[string]string{"options": `{"pipeline": "docs", "corpus_items": true, "allow_missing": true}`}
	for i := range 20 {
		parts["corpus"] += fmt.Sprintf(`{"_id": "d%d", "title": "", "text": "document %d says something"}`+"\n", i, i)
		parts["queries"] += fmt.Sprintf(`{"_id": "q%d", "text": "what says document %d"}`+"\n", i, i)
	}
	parts["qrels"] = "query-id\tcorpus-id\tscore\n"
	for i := range 20 {
		parts["qrels"] += fmt.Sprintf("q%d\td%d\t1\n", i, i)
	}
	for name, text := range parts {
		part, err := form.CreateFormFile(name, name)
		if err != nil {
			return err
		}
		if _, err := part.Write([]byte(text)); err != nil {
			return err
		}
	}
	if err := form.Close(); err != nil {
		return err
	}
	_, err := c.send(ctx, http.MethodPost, "/v1/evals", form.FormDataContentType(), b.Bytes())
	if err == nil {
		a.add(evaluations, "")
	}
	select {
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
	return err
}

// ingest adds a file to the folder and ingests it with the command. Half of the commands are killed;
// the others acknowledge the whole folder when they end.
func (k *killing) ingest(ctx context.Context, a *acknowledged, killAfter time.Duration) error {
	if err := os.WriteFile(filepath.Join(k.folder, a.name+".md"), []byte("# "+a.name+"\n\nThis is the book of "+a.name+".\n"), 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, k.s.command, "ingest", k.folder, "--collection", "books", "--tenant", "acme")
	cmd.Dir = k.dir
	if killAfter < 750*time.Millisecond {
		limited, cancel := context.WithTimeout(ctx, killAfter)
		defer cancel()
		cmd = exec.CommandContext(limited, cmd.Path, cmd.Args[1:]...)
		cmd.Dir = k.dir
		if cmd.Run() != nil {
			return nil // it was killed
		}
	} else if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ingest: %w: %.500s", err, out)
	}
	entries, err := os.ReadDir(k.folder)
	for _, e := range entries {
		a.files = append(a.files, "books/"+e.Name())
	}
	return err
}

// look compares what is stored with what a round was told.
func (k *killing) look(ctx context.Context, v *service, a *acknowledged) error {
	c := v.client("acme", 1)
	defer c.CloseIdleConnections()
	for kind, path := range map[int]string{facts: "/v1/memory/facts?limit=10000&tag=" + a.name, turns: "/v1/conversations/" + a.name + "/turns?limit=10000", frames: "/v1/runs/" + a.name + "/frames?limit=10000"} {
		var doc struct {
			Facts  []struct{ Content string }
			Turns  []struct{ Content string }
			Frames []struct{ Summary string }
		}
		var status *statusError
		if err := c.call(ctx, http.MethodGet, path, nil, &doc); errors.As(err, &status) && status.status == http.StatusNotFound {
			doc.Turns = nil // nothing was stored
		} else if err != nil {
			return err
		}
		var stored []string
		for _, f := range doc.Facts {
			stored = append(stored, f.Content)
		}
		for _, t := range doc.Turns {
			stored = append(stored, t.Content)
		}
		for _, f := range doc.Frames {
			stored = append(stored, f.Summary)
		}
		k.lost = append(k.lost, missing(a.name, a.texts[kind], stored)...)
	}
	return k.lookForFiles(ctx, a)
}

// lookForFiles compares the collection with the files that were ingested.
func (k *killing) lookForFiles(ctx context.Context, a *acknowledged) error {
	if len(a.files) == 0 {
		return nil
	}
	out, err := k.command(ctx, "collections", "show", "books", "--documents", "-o", "json", "--tenant", "acme")
	if err != nil {
		return err
	}
	var documents []struct{ ID string }
	if err := json.Unmarshal(out, &documents); err != nil {
		return fmt.Errorf("collections show: %w", err)
	}
	var stored []string
	for _, d := range documents {
		stored = append(stored, d.ID)
	}
	k.lost = append(k.lost, missing(a.name, a.files, stored)...)
	return nil
}

// missing returns an error for each acknowledged text that is not stored exactly once.
func missing(round string, acknowledged, stored []string) (lost []error) {
	times := map[string]int{}
	for _, text := range stored {
		times[text]++
	}
	for _, text := range acknowledged {
		if n := times[text]; n != 1 {
			lost = append(lost, fmt.Errorf("%s: %q is stored %d times", round, text, n))
		}
	}
	return lost
}

// whole looks for everything of all rounds once more, after a last run of ingest.
func (k *killing) whole(ctx context.Context, v *service) error {
	last := &acknowledged{name: "last"}
	if err := k.ingest(ctx, last, time.Hour); err != nil {
		return err
	}
	for _, a := range append(slices.Clone(k.rounds), last) {
		if err := k.look(ctx, v, a); err != nil {
			return err
		}
	}
	return nil
}

// records reads every record of a build, and returns their number.
func (k *killing) records(ctx context.Context) (n int, _ error) {
	app, err := anchor.Load(filepath.Join(k.dir, "anchor.yaml"), anchor.Options{Overrides: map[string]string{"store.path": filepath.Join(k.dir, "store.db")}})
	if err != nil {
		return 0, err
	}
	defer app.Close(context.WithoutCancel(ctx))
	for cursor := ""; ; {
		page, err := app.Builds(ctx, "acme", builds.Filter{}, cursor, 100)
		if err != nil {
			return n, err
		}
		for _, b := range page.Builds {
			if _, err := app.BuildRecord(ctx, "acme", b.ID); err != nil {
				return n, fmt.Errorf("record of build %s: %w", b.ID, err)
			}
			n++
		}
		if cursor = page.Next; cursor == "" {
			return n, nil
		}
	}
}
