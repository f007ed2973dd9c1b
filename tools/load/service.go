package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// site is a folder with a configuration, plugins, keys and a store.
type site struct {
	s   *suite
	dir string
	// keys are the keys of the tenants, by name.
	keys map[string]string
}

// The demo's plugins, over the documents of this repository: one retriever, a filter and a reranker.
const configuration = `plugins:
  dir: plugins
  instances:
    docs:
      plugin: bm25-retriever
      settings: {include: ["**/*.md"], stop_words: english}
      grants:
        files: [{host: %q, guest: /docs, mode: ro}]
counting: {tokenizer: cl100k_base}
window: {max_tokens: 4000, answer: 200}
store: {path: store.db}
pipelines:
  docs:
    window: {system_prompts: [{content: "version %d"}]}
    steps:
      - {name: retrieve, use: docs, priority: 10, top_k: 10}
      - {name: dedupe, use: dedupe, priority: 20}
      - {name: rerank, use: mmr-reranker, priority: 30, top_k: 30}
`

// plugins are those that the configuration uses.
var plugins = []string{"bm25-retriever", "dedupe", "mmr-reranker"}

// newSite makes a site in a temporary folder. more is added to its configuration.
func newSite(ctx context.Context, s *suite, more string, tenants ...string) (*site, error) {
	dir, err := os.MkdirTemp("", "anchor-load-")
	if err != nil {
		return nil, err
	}
	st := &site{s: s, dir: dir, keys: map[string]string{}}
	for _, name := range plugins {
		if err := os.CopyFS(filepath.Join(dir, "plugins", name), os.DirFS(filepath.Join(s.plugins, name))); err != nil {
			return st, fmt.Errorf("copy plugin %s: %w (make plugins builds it)", name, err)
		}
	}
	if err := st.configure(0, more); err != nil {
		return st, err
	}
	for _, tenant := range tenants {
		out, err := st.command(ctx, "keys", "add", "--file", "keys.yaml", "--tenant", tenant, "--scopes", "build,memory:read,memory:write,collections,collections:write,admin,content")
		if err != nil {
			return st, err
		}
		st.keys[tenant] = strings.TrimSpace(string(out))
	}
	return st, nil
}

// configure writes the configuration with a version number, which replaces the file as a whole.
func (st *site) configure(version int, more string) error {
	text := fmt.Sprintf(configuration, filepath.Join(st.s.root, "docs"), version) + more
	path := filepath.Join(st.dir, "anchor.yaml")
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// remove deletes the site.
func (st *site) remove() {
	if st != nil {
		os.RemoveAll(st.dir)
	}
}

// command runs the binary in the site and returns its stdout. The error has its stderr.
func (st *site) command(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, st.s.command, args...)
	cmd.Dir = st.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("anchor-host %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// service is the process that serves a site.
type service struct {
	*site
	cmd *exec.Cmd
	// exited is closed when the process has ended.
	exited      chan struct{}
	data, admin string // addresses, with http://
	log         string // file
}

// patience is how long a service may take to start and to end.
const patience = 90 * time.Second

var listening = regexp.MustCompile(`the API is at (http://\S+), and health and reload at (http://[^;\s]+)`)

// start starts the service and waits until it takes requests. Its ports are free ones.
func (st *site) start(ctx context.Context, args ...string) (*service, error) {
	log, err := os.CreateTemp(st.dir, "log-*")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	v := &service{site: st, exited: make(chan struct{}), log: log.Name()}
	v.cmd = exec.Command(st.s.command, append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-level", "warn"}, args...)...)
	v.cmd.Dir, v.cmd.Stderr = st.dir, log
	if err := v.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = v.cmd.Wait() // how it ended is asked for where it matters
		close(v.exited)
	}()
	if err := v.ready(ctx); err != nil {
		v.kill()
		return nil, err
	}
	return v, nil
}

// ready waits until the service takes requests.
func (v *service) ready(ctx context.Context) error {
	for begin := time.Now(); time.Since(begin) < patience; {
		text, err := os.ReadFile(v.log)
		if err != nil {
			return err
		}
		if m := listening.FindSubmatch(text); m != nil {
			v.data, v.admin = string(m[1]), string(m[2])
			resp, err := http.Get(v.data + "/readyz")
			if err == nil {
				resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					return nil
				}
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-v.exited:
			return fmt.Errorf("the service ended: %s", v.logged())
		case <-time.After(5 * time.Millisecond):
		}
	}
	return fmt.Errorf("the service is not ready after %s: %s", patience, v.logged())
}

// logged returns the end of the log.
func (v *service) logged() string {
	text, _ := os.ReadFile(v.log) // without it there is nothing to show
	return string(text[max(0, len(text)-2000):])
}

// kill ends the process as kill -9 does, and waits for its end.
func (v *service) kill() {
	_ = v.cmd.Process.Kill() // it may have ended
	<-v.exited
}

// stop ends the service in order. The error says that it took too long or failed.
func (v *service) stop() error {
	if err := v.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-v.exited:
	case <-time.After(patience):
		v.kill()
		return errors.New("the service did not end")
	}
	if code := v.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the service ended with %d: %s", code, v.logged())
	}
	return nil
}

// client returns a client of a tenant.
func (v *service) client(tenant string, connections int) *client {
	return newClient(v.data, v.keys[tenant], connections)
}

// health is what the service says of its process.
type health struct {
	rss, heap, goroutines, files, cpu float64 // bytes, bytes, number, number, seconds
}

// health reads the metrics of the process.
func (v *service) health(ctx context.Context, tenant string) (h health, err error) {
	c := newClient(v.admin, v.keys[tenant], 1)
	defer c.CloseIdleConnections()
	data, err := c.send(ctx, http.MethodGet, "/metrics", "", nil)
	if err != nil {
		return h, err
	}
	want := map[string]*float64{
		"process_resident_memory_bytes": &h.rss, "go_memstats_heap_alloc_bytes": &h.heap, "go_goroutines": &h.goroutines,
		"process_open_fds": &h.files, "process_cpu_seconds_total": &h.cpu,
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if to := want[name]; to != nil {
			if *to, err = strconv.ParseFloat(value, 64); err != nil {
				return h, fmt.Errorf("metric %s: %w", name, err)
			}
			delete(want, name)
		}
	}
	for name := range want {
		return h, fmt.Errorf("there is no metric %s (they need Linux)", name)
	}
	return h, nil
}

// settled waits until the process is quiet, collects its garbage, and reads its health.
func (v *service) settled(ctx context.Context, tenant string) (h health, err error) {
	c := newClient(v.admin, v.keys[tenant], 1)
	defer c.CloseIdleConnections()
	for range 20 {
		before := h
		if _, err := c.send(ctx, http.MethodGet, "/debug/pprof/heap?gc=1", "", nil); err != nil {
			return h, err
		}
		if h, err = v.health(ctx, tenant); err != nil || h.goroutines == before.goroutines && h.files == before.files {
			return h, err
		}
		time.Sleep(500 * time.Millisecond)
	}
	return h, nil
}

// samples reads the health of a service again and again until its end is called.
type samples struct {
	list []health
	err  error
	stop context.CancelFunc
	done chan struct{}
}

func (v *service) sample(ctx context.Context, tenant string, every time.Duration) *samples {
	ctx, cancel := context.WithCancel(ctx)
	o := &samples{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		for o.err == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
			h, err := v.health(context.WithoutCancel(ctx), tenant)
			o.err = err
			o.list = append(o.list, h)
		}
	}()
	return o
}

// end returns the samples.
func (o *samples) end() ([]health, error) {
	o.stop()
	<-o.done
	if o.err == nil && len(o.list) == 0 {
		return nil, errors.New("nothing was sampled: let it run longer")
	}
	return o.list, o.err
}

// rss returns the median of the memory of some samples.
func rss(list []health) float64 {
	var values []float64
	for _, h := range list {
		values = append(values, h.rss)
	}
	return median(values)
}

func asRefusal(err error, to *refusal) bool { return errors.As(err, to) }
