package main

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// counts are how often things break, and for how long.
type counts struct {
	database, hosts, halves int
	stopped, cut, full      time.Duration
}

var (
	all   = counts{database: 50, hosts: 200, halves: 20, stopped: time.Minute, cut: 10 * time.Second, full: 8 * time.Second}
	brief = counts{database: 5, hosts: 12, halves: 3, stopped: 6 * time.Second, cut: 5 * time.Second, full: 4 * time.Second}
)

// diskSize is that of the disk of the database, so that it can be filled.
const diskSize = "size=400m"

// faults breaks everything that a cluster survives, many times.
func faults(ctx context.Context, s *suite) error {
	n := all
	if s.short {
		n = brief
	}
	data, err := s.data()
	if err != nil {
		return err
	}
	small := syscall.Mount("tmpfs", data, "tmpfs", 0, diskSize) == nil
	if err := s.up(ctx, 3, data); err != nil {
		return err
	}
	if s.skewed != "" { // one host from the start on
		if err := s.replace(ctx, s.hosts[2], s.skewed); err != nil {
			return err
		}
		s.say("The clock of host c is an hour ahead.")
	}
	load, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.clients.run(load, workers)
	}()
	err = s.breakAll(ctx, n, small, data)
	stop()
	<-ended
	if err != nil {
		return err
	}
	return s.judged(ctx)
}

func (s *suite) breakAll(ctx context.Context, n counts, small bool, data string) error {
	type fault struct {
		name string
		f    func() error
	}
	list := []fault{
		{"nothing is wrong", func() error { return pause(ctx, 3*time.Second) }},
		{fmt.Sprintf("Postgres is killed %d times", n.database), func() error { return s.killDatabases(ctx, n.database) }},
		{fmt.Sprintf("a host is killed %d times", n.hosts), func() error { return s.killHosts(ctx, n.hosts) }},
		{fmt.Sprintf("Postgres stands still for %v", n.stopped), func() error { return s.standStill(ctx, n.stopped) }},
		{fmt.Sprintf("connections are half open, %d times", n.halves), func() error { return s.halveWires(ctx, n.halves) }},
		{fmt.Sprintf("host b is cut off for %v", n.cut), func() error { return s.partition(ctx, s.hosts[1], n.cut) }},
	}
	if small {
		list = append(list, fault{"the disk of Postgres is full", func() error { return s.fillDisk(ctx, data, n.full) }})
	} else {
		s.say("The disk of Postgres is not filled: that needs root, for a small disk.")
	}
	if s.old != "" {
		list = append(list, fault{"an older version beside the others", func() error { return s.upgrade(ctx) }})
	}
	list = append(list, fault{"nothing is wrong any more", func() error { return pause(ctx, 5*time.Second) }})
	for _, p := range list {
		if err := s.phase(p.name, p.f); err != nil {
			return err
		}
	}
	return nil
}

func (s *suite) killDatabases(ctx context.Context, n int) error {
	for i := range n {
		if err := pause(ctx, time.Duration(200+100*(i%7))*time.Millisecond); err != nil {
			return err
		}
		s.database.kill()
		if err := s.database.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// killHosts kills one host after the other, each as soon as the one before is back.
func (s *suite) killHosts(ctx context.Context, n int) error {
	for i := range n {
		if err := pause(ctx, time.Duration(20*(i%5))*time.Millisecond); err != nil {
			return err
		}
		h := s.hosts[i%len(s.hosts)]
		h.kill()
		if err := h.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *suite) standStill(ctx context.Context, length time.Duration) error {
	s.database.signal(syscall.SIGSTOP)
	err := pause(ctx, length)
	s.database.signal(syscall.SIGCONT)
	return err
}

func (s *suite) halveWires(ctx context.Context, n int) error {
	for i := range n {
		s.hosts[i%len(s.hosts)].wire.halve()
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// fillDisk leaves the database no room for a time. If it ends for that, it is started again.
func (s *suite) fillDisk(ctx context.Context, dir string, length time.Duration) error {
	remove, err := ballast(dir)
	if err != nil {
		return err
	}
	err = pause(ctx, length)
	remove()
	if err == nil && !s.database.running() {
		err = s.database.start(ctx)
	}
	if err == nil {
		err = pause(ctx, 2*time.Second)
	}
	return err
}

// replace ends a host in order and starts another version in its place.
func (s *suite) replace(ctx context.Context, h *host, command string) error {
	if err := h.stop(); err != nil {
		return err
	}
	h.command = command
	return h.start(ctx)
}

// upgrade runs an older version in the place of a host, beside the others, and then the newer one again.
func (s *suite) upgrade(ctx context.Context) error {
	for _, command := range []string{s.old, s.command} {
		if err := s.replace(ctx, s.hosts[0], command); err != nil {
			return err
		}
		if err := pause(ctx, 5*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// unmount removes the small disk, if there is one.
func unmount(dir string) {
	if dir != "" {
		_ = syscall.Unmount(dir+"/postgres", syscall.MNT_DETACH) // it may be no disk of its own
	}
}
