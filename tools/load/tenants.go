package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// flooders is how many clients the tenant has that floods the service.
const flooders = 32

// tenants measures what a tenant loses when another one floods the service: with clients that wait
// for their answers, and with requests that come at a rate. The flood comes from processes of the
// lowest priority, because in earnest it comes from other machines.
func tenants(ctx context.Context, s *suite) error {
	st, err := newSite(ctx, s, "server: {keys: keys.yaml, drain_delay: none, watch: false}\n", "acme", "flood")
	defer st.remove()
	if err != nil {
		return err
	}
	requests, err := buildRequests(s.root)
	if err != nil {
		return err
	}
	v, err := st.start(ctx)
	if err != nil {
		return err
	}
	defer v.kill()
	length := s.over
	if length == 0 {
		length = 10 * time.Second
	}
	if s.short {
		length = 2 * time.Second
	}
	c := v.client("acme", 64)
	var turn atomic.Int64
	once := func(ctx context.Context) error {
		_, err := c.send(ctx, http.MethodPost, "/v1/builds", "application/json", requests[int(turn.Add(1))%len(requests)])
		return err
	}
	closedLoop(ctx, 8, during(length/2), once)
	capacity := closedLoop(ctx, 8, during(length), once).perSecond()
	if capacity == 0 {
		return errors.New("nothing was built")
	}
	s.shown("builds of one tenant with 8 clients", fmt.Sprintf("%.0f/s", capacity), "", "what the rates below are parts of")
	for _, m := range []struct {
		name string
		run  func() *tally
	}{
		{"one client that waits", func() *tally { return closedLoop(ctx, 1, during(length), once) }},
		{"requests at 20 % of the capacity", func() *tally { return openLoop(ctx, capacity/5, length, 256, once) }},
		{"requests at 40 % of the capacity", func() *tally { return openLoop(ctx, 2*capacity/5, length, 256, once) }},
	} {
		alone := m.run()
		stop, err := startFlood(ctx, v, requests[0])
		if err != nil {
			return err
		}
		beside := m.run()
		flood, err := stop()
		if err != nil {
			return err
		}
		kept := beside.perSecond() / alone.perSecond()
		s.speed(m.name, percent(kept), "at least 90 %", kept >= 0.9, "%.0f/s alone, %.0f/s beside %d clients with %.0f/s; p99 %.0f ms, then %.0f ms; refused %d, failed %d",
			alone.perSecond(), beside.perSecond(), flooders, flood, ms(percentile(alone.times, 0.99)), ms(percentile(beside.times, 0.99)), beside.refused, beside.failed)
		s.row("requests that failed", fmt.Sprint(alone.failed+beside.failed), "0", alone.failed+beside.failed == 0, "first: %v", errors.Join(alone.first, beside.first))
	}
	return ctx.Err()
}

// floodVariable makes this program, when it starts itself, send a flood.
const floodVariable = "ANCHOR_LOAD_FLOOD"

// flood is the task of a child process.
type flood struct {
	Base    string `json:"base"`
	Key     string `json:"key"`
	Request []byte `json:"request"`
}

// floodAsChild sends the flood of the environment, if there is one, until stdin ends, and prints the
// throughput.
func floodAsChild() bool {
	text := os.Getenv(floodVariable)
	if text == "" {
		return false
	}
	var f flood
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		fmt.Fprintln(os.Stderr, "load: flood:", err)
		os.Exit(1)
	}
	ctx, end := context.WithCancel(context.Background())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // it ends when the parent closes it, or ends
		end()
	}()
	c := newClient(f.Base, f.Key, flooders)
	t := closedLoop(ctx, flooders, func() bool { return true }, func(ctx context.Context) error {
		_, err := c.send(ctx, http.MethodPost, "/v1/builds", "application/json", f.Request)
		return err
	})
	fmt.Println(t.perSecond())
	return true
}

// startFlood floods the service from another process. stop returns the throughput that the flood got.
func startFlood(ctx context.Context, v *service, request []byte) (stop func() (float64, error), _ error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	task, err := json.Marshal(flood{v.data, v.keys["flood"], request})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "nice", "-n", "19", self)
	cmd.Env = append(os.Environ(), floodVariable+"="+string(task))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	time.Sleep(time.Second) // until it floods
	return func() (perSecond float64, err error) {
		stdin.Close()
		_, err = fmt.Fscan(stdout, &perSecond)
		return perSecond, errors.Join(err, cmd.Wait())
	}, nil
}
