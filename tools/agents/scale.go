package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/anchor-host/anchor-host/internal/agents/learned"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

// scale searches a memory of many turns, in a process that has just begun as a hook does, and again. It makes the
// memory in the folder if there is none.
func scale(ctx context.Context, dir string, n int) error {
	begun := time.Now()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "s.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	m, err := learned.Open(s, learned.Options{})
	if err != nil {
		return err
	}
	p := project.Project{ID: "p-scale", Name: "scale"}
	opened := time.Since(begun)
	search := func() (time.Duration, error) {
		at := time.Now()
		found, err := m.Search(ctx, p, "which file has the retry limit of payment 4711?", 5, 800)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("nothing is found")
		}
		return time.Since(at), err
	}
	cold, err := search()
	if err != nil {
		return fill(ctx, m, p, n)
	}
	before := processor()
	warm := time.Hour
	for range 10 {
		took, err := search()
		if err != nil {
			return err
		}
		warm = min(warm, took)
	}
	at := time.Now()
	if _, err := m.Start(ctx, p, 1000); err != nil {
		return err
	}
	say(map[string]any{"open_ms": opened.Milliseconds(), "cold_ms": cold.Milliseconds(), "warm_us": warm.Microseconds(), "warm_processor_us": (processor() - before).Microseconds() / 10, "start_us": time.Since(at).Microseconds()})
	return nil
}

// fill stores so many turns and facts.
func fill(ctx context.Context, m *learned.Memory, p project.Project, n int) error {
	words := []string{"payment", "retry", "cart", "login", "queue", "worker", "schema", "index", "token", "cache", "deploy", "region", "limit", "budget", "report", "export"}
	for session := 0; n > 0; session++ {
		var said []learned.Said
		for i := range min(n, learned.MaxTurns) {
			k := session*learned.MaxTurns + i
			said = append(said, learned.Said{Source: learned.User, Text: fmt.Sprintf("The %s of %s %d is configured in %s%d.yaml next to the %s settings of service %d.", words[k%16], words[k/16%16], k, words[k/3%16], k%97, words[k/7%16], k%411)})
		}
		n -= len(said)
		if _, err := m.Turns(ctx, p, fmt.Sprint("s", session), said); err != nil {
			return err
		}
	}
	return nil
}
