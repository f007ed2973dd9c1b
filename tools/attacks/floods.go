package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/hostile"
)

// flood is an attack of one tenant, or of somebody without a key, which goes on while another
// tenant builds.
type flood struct {
	name, what string
	run        func(s *suite, ctx context.Context, v *service)
}

var floods = []flood{
	{"bombs", "requests of 63 MiB that few kB hold", (*suite).floodBombs},
	{"hints", "requests with many names that are wrong", (*suite).floodHints},
	{"bodies", "bodies of 64 MiB of which half comes", (*suite).floodBodies},
	{"decoders", "bodies that want decoders and do not come", (*suite).floodDecoders},
	{"ingest", "uploads of hostile documents of up to 64 MiB", (*suite).floodIngest},
	{"slow", "4,400 bodies that come slowly", (*suite).floodSlow},
	{"idle", "4,400 connections that wait, of somebody without a key", (*suite).floodIdle},
	{"headers", "4,400 connections that send their header slowly", (*suite).floodHeaders},
}

// forever runs n loops until the context ends, and waits for them. A step that fails at once is
// followed by a millisecond without: a service cannot prevent that its client uses the processor.
func forever(ctx context.Context, n int, step func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for ; ctx.Err() == nil; i += n {
				step(i)
				time.Sleep(time.Millisecond)
			}
		})
	}
	wg.Wait()
}

// floodRequests sends hostile requests by turns, four at a time.
func (s *suite) floodRequests(ctx context.Context, v *service, size int, some []string) {
	all := requests()
	all = slices.DeleteFunc(all, func(r request) bool { return !slices.Contains(some, r.name) })
	bodies := make([][]byte, len(all))
	for i, r := range all {
		bodies[i] = s.zipped(r, size)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	defer client.CloseIdleConnections()
	forever(ctx, 4, func(i int) {
		i %= len(all)
		_, _, _ = v.post(ctx, client, "evil", all[i].path+"?timeout=1s", bodies[i], true) // any answer will do
	})
}

func (s *suite) floodBombs(ctx context.Context, v *service) {
	s.floodRequests(ctx, v, bombSize, shortBombs)
}

func (s *suite) floodHints(ctx context.Context, v *service) {
	s.floodRequests(ctx, v, hintSize, shortHints)
}

// document is a hostile document.
type document struct{ name, data string }

// documents are the kinds that take most memory and time, and lists and texts as large as an upload may be.
// They are made once, before the attack: making them would take the processor from the service.
func (s *suite) documents() []document {
	if s.uploads != nil {
		return s.uploads
	}
	s.uploads = []document{
		{"lines.jsonl", strings.Repeat("{\"a\":[[],[]]}\n", 4_700_000)}, {"one line.jsonl", strings.Repeat("{},", 21_000_000)},
		{"long.txt", strings.Repeat("a b ", 8<<20)}, {"long.md", strings.Repeat("# a\n\n", 5<<20)},
	}
	for _, size := range []int{largeFile, smallFile} {
		for _, name := range shortFiles[size] {
			s.uploads = append(s.uploads, document{name, grown(hostile.Named(name), size)})
		}
	}
	return s.uploads
}

// floodIngest uploads hostile documents by turns, four at a time.
func (s *suite) floodIngest(ctx context.Context, v *service) {
	all := s.documents()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	defer client.CloseIdleConnections()
	forever(ctx, 4, func(i int) {
		d := all[i%len(all)]
		path := fmt.Sprintf("/v1/collections/c%d/documents?name=%s", i, url.QueryEscape(d.name))
		status, _, _ := v.post(ctx, client, "evil", path, []byte(d.data), false)
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			select { // as Retry-After asks, but sooner
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

// dial opens a connection to a listener of the service, from one of the addresses of this machine that
// nobody else uses.
func dial(ctx context.Context, address string, from int) (net.Conn, error) {
	d := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+from))}}
	return d.DialContext(ctx, "tcp", address)
}

// header is the beginning of a request of the attacker.
func (v *service) header(more string) string {
	return "POST /v1/builds HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + v.keys["evil"] + "\r\nContent-Type: application/json\r\n" + more + "\r\n"
}

// floodBodies has six bodies that end in the middle, which is where a buffer doubles.
func (s *suite) floodBodies(ctx context.Context, v *service) {
	half := []byte(strings.Repeat(" ", 32<<20+1))
	forever(ctx, 6, func(int) {
		v.hold(ctx, v.header(fmt.Sprintf("Content-Length: %d\r\n", 64<<20)), half)
	})
}

// floodDecoders has bodies that do not come, whose decoders are almost as large as all bodies may be,
// and some that take the rest.
func (s *suite) floodDecoders(ctx context.Context, v *service) {
	rest := []byte(strings.Repeat(" ", 4<<20+1))
	forever(ctx, 40, func(i int) {
		if i%5 == 0 {
			v.hold(ctx, v.header(fmt.Sprintf("Content-Length: %d\r\n", 8<<20)), rest)
			return
		}
		v.hold(ctx, v.header("Content-Encoding: zstd\r\nContent-Length: 1000000\r\n"), nil)
	})
}

// hold sends what it has, and waits for the service to do something.
func (v *service) hold(ctx context.Context, head string, body []byte) {
	conn, err := dial(ctx, v.api, 0)
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := io.WriteString(conn, head); err != nil {
		return
	}
	if _, err := conn.Write(body); err == nil {
		_, _ = conn.Read(make([]byte, 1)) // whatever it is
	}
}

// floodSlow has bodies of which a byte comes now and then.
func (s *suite) floodSlow(ctx context.Context, v *service) {
	forever(ctx, idlers, func(i int) {
		drip(ctx, v.api, i%idleAddresses, v.header(fmt.Sprintf("Content-Length: %d\r\n", 64<<20)))
	})
}

// drip sends a text, and then a byte each second.
func drip(ctx context.Context, address string, from int, text string) {
	conn, err := dial(ctx, address, from)
	if err != nil {
		return
	}
	defer conn.Close()
	for ctx.Err() == nil {
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
		text = "x"
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// idlers are more than server.max_connections, and come from more addresses than it takes to have
// all of them. A few go to the admin listener.
const idlers, idleAddresses = 4400, 8

// floodIdle has connections that send a request which needs no key, and then stay.
func (s *suite) floodIdle(ctx context.Context, v *service) {
	forever(ctx, idlers, func(i int) {
		conn, err := dial(ctx, v.nth(i), i%idleAddresses)
		if err != nil {
			return
		}
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"); err == nil {
			_, _ = io.Copy(io.Discard, conn) // until the service closes it
		}
	})
}

// floodHeaders has connections whose header does not end.
func (s *suite) floodHeaders(ctx context.Context, v *service) {
	forever(ctx, idlers, func(i int) {
		drip(ctx, v.nth(i), i%idleAddresses, "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ")
	})
}

// nth is where the nth connection goes: one of 20 to the admin listener.
func (v *service) nth(i int) string {
	if i%20 == 0 {
		return v.admin
	}
	return v.api
}

// goodBuild is a build of the other tenant: 20 items of some words.
var goodBuild = func() []byte {
	items := make([]map[string]string, 20)
	for i := range items {
		items[i] = map[string]string{"id": fmt.Sprint(i), "content": strings.Repeat("some text of an item ", 40), "source": "retrieval"}
	}
	body, _ := json.Marshal(map[string]any{"query": strings.Repeat("memory limits ", 20), "steps": []string{}, "items": items}) // it has only strings
	return body
}()

// served is how some requests fared. They come at their times, whether or not those before were
// answered.
type served struct {
	asked, ok int
	took      []time.Duration
	failure   string
}

// lost is the share of requests without an answer, in percent.
func (o *served) lost() float64 { return 100 * float64(o.asked-o.ok) / float64(max(1, o.asked)) }

const (
	// every is the time between two requests, one in ten of which is a probe.
	every = 25 * time.Millisecond
	// patience is how long each may take.
	patience = 2 * time.Second
)

// String formats it.
func (o *served) String() string {
	text := fmt.Sprintf("%d of %d", o.ok, o.asked)
	if n := len(o.took); n > 0 {
		slices.Sort(o.took)
		text += fmt.Sprintf(", p50 %s, p99 %s", short(o.took[n/2]), short(o.took[n*99/100]))
	}
	if o.failure != "" {
		text += ", such as " + o.failure
	}
	return text
}

// use sends the builds of the other tenant for some time, and probes to the admin listener.
func (v *service) use(ctx context.Context, length time.Duration) (builds, probes served) {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var wg sync.WaitGroup
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range int(length / every) {
		<-tick.C
		probe, of := i%10 == 9, &builds
		if probe {
			of = &probes
		}
		of.asked++
		wg.Go(func() {
			began := time.Now()
			status, err := v.once(ctx, client, probe)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && status == http.StatusOK {
				of.ok, of.took = of.ok+1, append(of.took, time.Since(began))
			} else {
				of.failure = fmt.Sprintf("%d %v", status, err)
			}
		})
	}
	wg.Wait()
	return builds, probes
}

// once sends a build of the other tenant, or asks whether the service lives.
func (v *service) once(ctx context.Context, client *http.Client, probe bool) (status int, err error) {
	if !probe {
		status, _, err = v.post(ctx, client, "good", "/v1/builds", goodBuild, false)
		return status, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+v.admin+"/livez", nil)
	if err != nil {
		return 0, err
	}
	status, _, err = answer(client, req)
	return status, err
}

// floodRow measures the other tenant alone, and then while the attack goes on. The figure is the
// share of builds, or of probes, that are lost.
func (s *suite) floodRow(f flood) func(context.Context) (reading, error) {
	return func(ctx context.Context) (r reading, err error) {
		length := 10 * time.Second
		if s.short {
			length = 2 * time.Second
		}
		v, err := s.serve(ctx)
		if err != nil {
			return r, err
		}
		defer v.stop()
		if f.name == "ingest" {
			s.documents()
		}
		alone, _ := v.use(ctx, length/4)
		attacked, stop := context.WithCancel(ctx)
		var attack sync.WaitGroup
		attack.Go(func() { f.run(s, attacked, v) })
		defer attack.Wait()
		defer stop()
		time.Sleep(time.Second) // until it is there
		beside, probes := v.use(ctx, length)
		v.look()
		if !v.alive() {
			r.failed = "the service is " + v.killed
		}
		if alone.ok < alone.asked {
			r.failed = "the other tenant alone: " + alone.String()
		}
		r.value = max(beside.lost(), probes.lost())
		r.details = []string{"alone:  " + alone.String(), "beside: " + beside.String(), "probes: " + probes.String(), "peak of the service: " + mebibytes(v.peak.Load())}
		s.peaks[f.name] = v.peak.Load()
		return r, nil
	}
}
