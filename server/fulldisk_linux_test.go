package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

// smallDisk is a folder on a file system of 16 MiB, and what fills it and makes room again.
func smallDisk(t *testing.T) (dir string, fill, free func()) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("mount a small file system: %v (needs root)", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(dir, "filler")
	fill = func() {
		t.Helper()
		f, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, size := range []int{64 << 10, 512, 1} {
			for err = nil; err == nil; {
				_, err = f.Write(make([]byte, size))
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		}
	}
	return dir, fill, func() {
		t.Helper()
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
}

// acknowledged is what a service said it has.
type acknowledged struct {
	dir                          string // of the store
	facts, turns, frames, builds []string
}

// write writes one of everything until the disk is full, or n times, and reports whether it is full.
func (k *acknowledged) write(t *testing.T, l *live, round string, n int) (full bool) {
	t.Helper()
	for i := range n {
		text := fmt.Sprintf("%s-%d ", round, i)
		long := text + strings.Repeat("x", 2000)
		for _, w := range []struct {
			path, body string
			have       *[]string
		}{
			{"/v1/memory/facts", `{"content": "fact ` + long + `"}`, &k.facts},
			// Two turns at once: none of them or both are there.
			{"/v1/conversations/c/turns", `{"turns": [{"role": "user", "content": "ask ` + long + `"}, {"role": "assistant", "content": "say ` + long + `"}]}`, &k.turns},
			{"/v1/runs/r/frames", `{"kind": "tool_call", "summary": "call ` + text + `"}`, &k.frames},
		} {
			switch got := l.api("POST", w.path, w.body); {
			case got.status == 201:
				*w.have = append(*w.have, text)
			case got.status == 507 && got.reason() == "store_full":
				full = true
				var doc failure.Document
				got.into(t, &doc)
				if said := doc.Error.Message + doc.Error.Remedy; !strings.Contains(said, "make room") || strings.Contains(said, k.dir) {
					t.Errorf("%s on a full disk: %q; want that it says to make room, and names no file of the host", w.path, said)
				}
			default:
				t.Errorf("%s: %d %s, want 201, or 507 and store_full", w.path, got.status, got.body)
			}
		}
		// A build needs no room, though its record does.
		got := l.api("POST", "/v1/builds?conversation=c", noStore)
		if got.status != 200 {
			t.Errorf("a build on a full disk: %d %s, want 200", got.status, got.body)
		}
		if full {
			return true
		}
		if err := l.app.FlushRecords(t.Context()); err != nil {
			t.Fatal(err)
		}
		k.builds = append(k.builds, got.header.Get("Anchor-Build-Id"))
	}
	return full
}

// check finds everything that was acknowledged, once, and nothing of what was refused.
func (k *acknowledged) check(t *testing.T, when string, l *live) {
	t.Helper()
	facts, err := l.app.Facts(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := facts.List(t.Context(), memory.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	talk, err := l.app.Conversation(t.Context(), "", "c")
	if err != nil {
		t.Fatal(err)
	}
	turns, err := talk.Turns(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	run, err := l.app.Run(t.Context(), "", "r")
	if err != nil {
		t.Fatal(err)
	}
	frames, err := run.Frames(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var factTexts, asked, said, called []string
	for _, e := range entries {
		factTexts = append(factTexts, e.Content)
	}
	for _, turn := range turns {
		if turn.Role == pipeline.RoleUser {
			asked = append(asked, turn.Content)
		} else {
			said = append(said, turn.Content)
		}
	}
	for _, f := range frames {
		called = append(called, f.Summary+" ")
	}
	for _, c := range []struct {
		what       string
		have, want []string
	}{{"facts", factTexts, k.facts}, {"turns of the user", asked, k.turns}, {"turns of the assistant", said, k.turns}, {"frames", called, k.frames}} {
		all := strings.Join(c.have, "\n")
		for _, text := range c.want {
			if !strings.Contains(all, " "+text) {
				t.Errorf("%s: %s: %q was acknowledged and is gone", when, c.what, text)
			}
		}
		if len(c.have) != len(c.want) {
			t.Errorf("%s: %d %s, want the %d that were acknowledged", when, len(c.have), c.what, len(c.want))
		}
	}
	for _, id := range k.builds {
		if got := l.api("GET", "/v1/builds/"+id, ""); got.status != 200 {
			t.Errorf("%s: the record of a build: %d %s, want 200", when, got.status, got.body)
		}
	}
}

// The disk of a service fills up under it, and has room again, several times. It refuses what it cannot
// keep and says what to do, has everything that it has acknowledged and nothing by half, and goes on
// without being started again.
func TestServiceOnADiskThatFills(t *testing.T) {
	dir, fill, free := smallDisk(t)
	path := filepath.Join(dir, "store.db")
	overrides := map[string]string{"store.path": path, "store.synchronous": "normal"}
	l := startWith(t, words+"builds: {records: {}}\nmemory: {conversation: {tokens: 50}, facts: {}}\n", anchor.Options{Overrides: overrides}, Options{})
	k := &acknowledged{dir: dir}
	for round := range 3 {
		name := fmt.Sprint("before ", round)
		if k.write(t, l, fmt.Sprint("room", round), 4) {
			t.Fatalf("%s: the disk is full already", name)
		}
		fill()
		if !k.write(t, l, fmt.Sprint("full", round), 100) {
			t.Fatalf("%s: the disk is full, and everything is acknowledged", name)
		}
		k.check(t, "full", l)
		if got := l.control("GET", "/readyz", ""); got.status != 200 {
			t.Errorf("readyz on a full disk: %d %s, want 200: builds go on", got.status, got.body)
		}
		free()
		k.check(t, "with room again", l)
	}
	// The command deletes beside the service, in the room that the store reserves for this.
	fill()
	k.write(t, l, "full at the end", 100)
	beside, err := anchor.Load(l.file(), anchor.Options{CacheDir: "off", Overrides: overrides, Access: anchor.DeleteOnly})
	if err != nil {
		t.Fatal(err)
	}
	n, err := beside.ForgetFacts(t.Context(), "", memory.Filter{})
	if err != nil || n != len(k.facts) {
		t.Errorf("facts that another process forgets on the full disk: %d, %v, want all %d", n, err, len(k.facts))
	}
	k.facts = nil
	if err := beside.Close(t.Context()); err != nil {
		t.Error(err)
	}
	k.check(t, "full, without facts", l)
	free()
	if k.write(t, l, "at the end", 2) {
		t.Error("the disk is still full")
	}
	k.check(t, "at the end", l)
	if log := l.log.String(); !strings.Contains(log, path) || !strings.Contains(log, "make room on the disk and try again") {
		t.Errorf("the log does not name %s and what to do: %.2000s", path, log)
	}
	other, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatalf("another process does not open the store: %v", err)
	}
	if err := errors.Join(other.Check(t.Context()), other.Close()); err != nil {
		t.Error(err)
	}
}

// A service deletes on a full disk whatever it is asked to delete, one thing after another.
func TestServiceDeletesOnAFullDisk(t *testing.T) {
	dir, fill, free := smallDisk(t)
	overrides := map[string]string{"store.path": filepath.Join(dir, "store.db"), "store.synchronous": "normal"}
	l := startWith(t, words+"builds: {records: {}}\nmemory: {conversation: {tokens: 50}, facts: {}}\ncollections: {docs: {}}\n", anchor.Options{Overrides: overrides}, Options{})
	k := &acknowledged{dir: dir}
	k.write(t, l, "room", 3)
	docs := retrieve.Collection{Tenant: "default", Name: "docs"}
	sources := make([]ingest.Source, 30)
	for i := range sources {
		sources[i] = ingest.Source{Path: fmt.Sprint(i, ".md"), Reader: strings.NewReader(strings.Repeat(fmt.Sprintf("a lamp of %d. ", i), 50))}
	}
	if _, err := l.app.Ingest(t.Context(), sources, ingest.Options{Collection: docs}); err != nil {
		t.Fatal(err)
	}
	var facts factsDoc
	l.api("GET", "/v1/memory/facts", "").into(t, &facts)
	fill()
	k.write(t, l, "full", 100)
	for _, path := range []string{
		"/v1/memory/facts/" + facts.Facts[0].ID, "/v1/memory/facts?all=true", "/v1/builds/" + k.builds[0],
		"/v1/conversations/c/turns/1", "/v1/conversations/c", "/v1/runs/r",
	} {
		fill()
		if got := l.api("DELETE", path, ""); got.status/100 != 2 {
			t.Errorf("DELETE %s: %d %s", path, got.status, got.body)
		}
	}
	fill()
	if err := l.app.RemoveCollection(t.Context(), docs); err != nil {
		t.Errorf("remove the collection: %v", err)
	}
	free()
	if k.write(t, l, "at the end", 2) {
		t.Error("the disk is still full")
	}
}
