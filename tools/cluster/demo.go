package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const workers = 24

// data makes the folder of the database.
func (s *suite) data() (string, error) {
	dir := filepath.Join(s.dir, "postgres")
	return dir, os.Mkdir(dir, 0o700)
}

// demo shows a cluster that loses a host and its database, and takes back a configuration that is worse.
func demo(ctx context.Context, s *suite) error {
	s.say("A database, three hosts and a balancer start.")
	data, err := s.data()
	if err != nil {
		return err
	}
	if err := s.up(ctx, 3, data); err != nil {
		return err
	}
	s.say("%d clients of two tenants append turns and frames, read and delete, on any host.\n", workers)
	load, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.clients.run(load, workers)
	}()
	err = s.demonstrate(ctx)
	stop()
	<-ended
	if err != nil {
		return err
	}
	if err := s.limit(ctx); err != nil {
		return err
	}
	if err := s.rollout(ctx); err != nil {
		return err
	}
	return s.judged(ctx)
}

// demonstrate breaks what a cluster survives.
func (s *suite) demonstrate(ctx context.Context) error {
	length := 8 * time.Second
	if s.short {
		length = 4 * time.Second
	}
	for _, p := range []struct {
		name string
		f    func() error
	}{
		{"nothing is wrong", func() error { return pause(ctx, length) }},
		{"host b is killed, and back after a while", func() error { return s.killHost(ctx, s.hosts[1], length/2) }},
		{"Postgres is killed and started again", func() error { return s.killDatabase(ctx) }},
		{"host c is cut off from Postgres", func() error { return s.partition(ctx, s.hosts[2], length) }},
		{"nothing is wrong any more", func() error { return pause(ctx, length) }},
	} {
		if err := s.phase(p.name, p.f); err != nil {
			return err
		}
	}
	return nil
}

// limit lets a tenant flood all hosts.
func (s *suite) limit(ctx context.Context) error {
	length := 10 * time.Second
	got := s.clients.flood(ctx, 12, length)
	// What may be used at once, on each host, and what comes in the two seconds until they know of each other.
	extra := len(s.hosts) * (rate + 2*rate)
	most := int64(rate*length.Seconds()) + int64(extra)
	s.row("requests of a tenant that may send 20/s", fmt.Sprint(got), fmt.Sprintf("at most %d", most), got <= most && got >= int64(rate*length.Seconds())/2,
		"answered by three hosts together in %v; each by itself would have answered %.0f", length, 3*rate*length.Seconds())
	return ctx.Err()
}

// killHost kills a host, and starts it again after a time.
func (s *suite) killHost(ctx context.Context, h *host, after time.Duration) error {
	h.kill()
	if err := pause(ctx, after); err != nil {
		return err
	}
	if err := h.start(ctx); err != nil {
		return err
	}
	return pause(ctx, after)
}

// killDatabase kills the database and starts it again at once.
func (s *suite) killDatabase(ctx context.Context) error {
	s.database.kill()
	if err := s.database.start(ctx); err != nil {
		return err
	}
	return pause(ctx, 2*time.Second)
}

// partition cuts a host off from the database for a time.
func (s *suite) partition(ctx context.Context, h *host, length time.Duration) error {
	h.wire.lost.Store(true)
	err := pause(ctx, length)
	h.wire.lost.Store(false)
	return err
}

// pause waits for a time in which clients work.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
