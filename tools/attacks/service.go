package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/hostile"
)

// service is a running service with two tenants: evil, the attacker, and good.
type service struct {
	*command
	api, admin string
	keys       map[string]string
}

// listening is the line in which the service says where it is.
var listening = regexp.MustCompile(`the API is at http://(127\.0\.0\.1:\d+), and .* at http://(127\.0\.0\.1:\d+)`)

// site makes the folder of all services, with the keys of the tenants, once.
func (s *suite) site(ctx context.Context) (string, error) {
	dir := filepath.Join(s.dir, "serve")
	if s.keys != nil {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	const config = "counting: {tokenizer: words}\nserver: {listen: '127.0.0.1:0', admin_listen: '127.0.0.1:0', drain_delay: none, keys: keys.yaml, watch: false, queue: {builds: 2}}\n"
	if err := os.WriteFile(filepath.Join(dir, "anchor.yaml"), []byte(config), 0o600); err != nil {
		return "", err
	}
	keys := map[string]string{}
	for _, tenant := range []string{"evil", "good"} {
		c, err := s.run(ctx, killTime, dir, "keys", "add", "--file", "keys.yaml", "--tenant", tenant, "--scopes", "build,memory:read,memory:write,collections,collections:write")
		if err != nil {
			return "", err
		}
		if keys[tenant] = strings.TrimSpace(c.stdout.String()); keys[tenant] == "" {
			return "", fmt.Errorf("no key: %s", c.stderr.String())
		}
	}
	s.keys = keys
	return dir, nil
}

// serve starts a service.
func (s *suite) serve(ctx context.Context) (*service, error) {
	dir, err := s.site(ctx)
	if err != nil {
		return nil, err
	}
	for _, end := range []string{"", "-shm", "-wal"} {
		_ = os.Remove(filepath.Join(dir, "store.db"+end)) // each service begins with an empty store
	}
	c, err := s.start(ctx, dir, "serve", "--store", "store.db", "--cache-dir", "off", "--log-level", "error")
	if err != nil {
		return nil, err
	}
	for began := time.Now(); time.Since(began) < killTime && c.alive(); time.Sleep(5 * time.Millisecond) {
		if m := listening.FindStringSubmatch(c.stderr.String()); m != nil {
			return &service{c, m[1], m[2], s.keys}, nil
		}
	}
	c.stop()
	return nil, fmt.Errorf("the service does not start: %.500s", c.stderr.String())
}

// post sends a request of a tenant, gzipped or not, and reads the answer.
func (v *service) post(ctx context.Context, client *http.Client, tenant, path string, body []byte, gzipped bool) (status, size int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+v.api+path, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+v.keys[tenant])
	req.Header.Set("Content-Type", "application/json")
	if gzipped {
		req.Header.Set("Content-Encoding", "gzip")
	}
	return answer(client, req)
}

// answer sends a request and returns the status and the size of the answer.
func answer(client *http.Client, req *http.Request) (status, size int, err error) {
	resp, err := client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, int(n), err
}

// request is one hostile request.
type request struct {
	name, path string
	make       func(n int) string
}

// requests are all hostile requests, those of builds first.
func requests() (all []request) {
	for _, name := range slices.Sorted(maps.Keys(hostile.Requests)) {
		all = append(all, request{name, "/v1/builds", hostile.Requests[name]})
	}
	return append(all,
		request{"state", "/v1/assemble", hostile.Around(`{"messages":[],"state":{"data":{"a":[`, "1", `]}}}`)},
		request{"messages", "/v1/assemble", hostile.Around(`{"messages":[`, "{}", `]}`)},
		request{"keys of a state", "/v1/assemble", hostile.Numbered(`{"messages":[],"state":{"data":{`, `"%07d":0`, `}}}`)},
		request{"a fact", "/v1/memory/facts", hostile.Around(`{"content":"x","metadata":{"a":[`, "1", `]}}`)},
		request{"tags", "/v1/memory/search", hostile.Around(`{"query":"x","tags":[`, "1", `]}`)},
	)
}

// Those of a short run: values, deep nesting, many keys, many mistakes; and what costs by its names.
var (
	shortBombs = []string{"numbers", "no UTF-8", "empty turns", "deep", "unknown keys", "state", "a fact"}
	shortHints = []string{"labels", "labels and routes", "routes to missing retrievers", "steps of missing instances"}
)

// The sizes of hostile requests: almost server.max_body, and what one can send uncompressed.
const (
	bombSize = 63 << 20
	hintSize = 2 << 20
)

// zipped returns the body of a request, compressed. It makes each once.
func (s *suite) zipped(r request, size int) []byte {
	key := fmt.Sprint(r.name, size)
	if s.bodies[key] == nil {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, r.make(size)) // into memory
		_ = w.Close()
		s.bodies[key] = b.Bytes()
	}
	return s.bodies[key]
}

// answered is how the service answered one request.
type answered struct {
	name         string
	sent, status int
	size         int
	took         time.Duration
	peak         int64
	killed       string
}

// String formats it.
func (a answered) String() string {
	text := fmt.Sprintf("%-30s %4d kB sent: %d of %d kB after %s, peak %s", a.name, a.sent>>10, a.status, a.size>>10, short(a.took), mebibytes(a.peak))
	if a.killed != "" {
		text += ", " + a.killed
	}
	return text
}

// ask sends a hostile request to a service of its own, with a deadline of a second.
func (s *suite) ask(ctx context.Context, r request, size int) (a answered, err error) {
	body := s.zipped(r, size)
	v, err := s.serve(ctx)
	if err != nil {
		return a, err
	}
	defer v.stop()
	a.name, a.sent = r.name, len(body)
	limited, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	began := time.Now()
	a.status, a.size, err = v.post(limited, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, "evil", r.path+"?timeout=1s", body, true)
	a.took = time.Since(began)
	v.look()
	a.peak = v.peak.Load()
	if err != nil { // an answer is due, whatever was asked
		time.Sleep(50 * time.Millisecond) // the kernel may still be at it
		a.killed = "no answer"
		if !v.alive() {
			a.killed = v.killed
		}
	}
	return a, ctx.Err()
}

// asked sends the requests of one size, once for all rows.
func (s *suite) asked(ctx context.Context, size int, some []string) ([]answered, error) {
	if all, ok := s.answers[size]; ok {
		return all, nil
	}
	var all []answered
	for _, r := range requests() {
		if s.short && !slices.Contains(some, r.name) {
			continue
		}
		a, err := s.ask(ctx, r, size)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	s.answers[size] = all
	return all, nil
}

// maxAnswer is how large an error may be: it lists few mistakes.
const maxAnswer = 64 << 10

// asking is a row of the worst of some requests. It lists all of them, or the worst.
func (s *suite) asking(size int, some []string, list bool, figure func(answered) float64) func(context.Context) (reading, error) {
	return func(ctx context.Context) (r reading, err error) {
		all, err := s.asked(ctx, size, some)
		for _, a := range all {
			r.add(figure(a), a.String(), list)
			switch {
			case a.killed != "":
				r.failed = a.name + ": " + a.killed
			case a.status >= http.StatusBadRequest && a.size > maxAnswer:
				r.failed = fmt.Sprintf("%s: an error of %d kB", a.name, a.size>>10)
			}
		}
		return r, err
	}
}

func (a answered) mebibytes() float64 { return float64(a.peak) / (1 << 20) }
func (a answered) seconds() float64   { return a.took.Seconds() }

// serviceRows are the attacks on the service. In a short run time has ten times as much, and a
// quarter of the builds may be lost: the machine has other work, and the tool itself is some.
func (s *suite) serviceRows() []row {
	const peak, answer = 4*bombSize>>20 + 64, 1.5 // the service alone has 45 MiB
	rows := []row{
		{"serve/peak", "peak of the service for one request of 63 MiB, by kind", " MiB", peak, 0, s.asking(bombSize, shortBombs, true, answered.mebibytes)},
		{"serve/time", "the answer to it, asked for within 1 s, comes after", " s", answer, 10 * answer, s.asking(bombSize, shortBombs, false, answered.seconds)},
		{"serve/hints-peak", "peak of the service for one request of 2 MiB of names", " MiB", 128, 0, s.asking(hintSize, shortHints, true, answered.mebibytes)},
		{"serve/hints-time", "the answer to it, asked for within 1 s, comes after", " s", answer, 10 * answer, s.asking(hintSize, shortHints, false, answered.seconds)},
	}
	for _, f := range floods {
		rows = append(rows, row{"serve/" + f.name, "builds of another tenant that are lost beside " + f.what, " %", 10, 25, s.floodRow(f)})
	}
	return append(rows, row{"serve/floods-peak", "peak of the service in all of them", " MiB", 640, 0, s.floodsPeak})
}

// floodsPeak is the worst of what the rows of floods measured.
func (s *suite) floodsPeak(context.Context) (r reading, err error) {
	for _, f := range floods {
		r.value = max(r.value, float64(s.peaks[f.name])/(1<<20))
	}
	return r, nil
}
