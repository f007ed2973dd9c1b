package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// tenant owns everything that the service keeps, and large is the build with many items.
const (
	tenant     = "acme"
	large      = "many-items"
	largeItems = 5000
)

// service is a running anchor-host serve with keys.
type service struct {
	o         *options
	cmd       *exec.Cmd
	dir       string
	api       string
	admin     string
	key       string
	other     string // a key of another tenant
	fact, run string
	reader    *session
	// degraded is a build whose window lacks a step.
	degraded string
	// newest are the ids of the last builds, the newest first.
	newest []string
}

// startService starts the service with the plugins of a configuration, records of builds and keys.
func startService(ctx context.Context, o *options) (s *service, err error) {
	s = &service{o: o}
	s.reader = &session{s: s}
	if s.dir, err = os.MkdirTemp("", "console"); err != nil {
		return nil, err
	}
	defer func(made *service) {
		if err != nil {
			made.stop()
		}
	}(s)
	base, err := os.ReadFile(o.config)
	if err != nil {
		return nil, err
	}
	plugins, err := filepath.Abs(filepath.Join(filepath.Dir(o.config), "../plugins"))
	if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(string(base), "../plugins", plugins)
	text = regexp.MustCompile(`(?m)^server:.*$`).ReplaceAllString(text, "server: {drain_delay: none, keys: keys.yaml, watch: false}") +
		"builds: {records: {content: true}}\nstore: {path: store.db}\nmemory: {facts: {}}\nagent: {max_tokens: 4000}\ntelemetry: {log_level: warn}\n"
	text = strings.Replace(text, "  instances:\n", "  instances:\n    starved: {plugin: mmr-reranker, limits: {fuel: 100000}}\n", 1)
	text = strings.Replace(text, "pipelines: {docs: {}}", "pipelines: {docs: {}, support: {window: {max_tokens: 400, answer: 0}, steps: [{name: rerank, use: starved, must: false}]}, plain: {window: {max_tokens: 200, answer: 0}, steps: []}}", 1)
	config := filepath.Join(s.dir, "anchor.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	key, err := exec.CommandContext(ctx, o.command, "keys", "add", "--config", config, "--tenant", tenant,
		"--scopes", "build,memory:read,memory:write,admin,content").Output()
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	s.key = strings.TrimSpace(string(key))
	key, err = exec.CommandContext(ctx, o.command, "keys", "add", "--config", config, "--tenant", "globex", "--scopes", "build", "--note", "the shop of another tenant").Output()
	if err != nil {
		return nil, fmt.Errorf("make a second key: %w", err)
	}
	s.other = strings.TrimSpace(string(key))
	return s, s.start(config)
}

var addresses = regexp.MustCompile(`the API is at (http://\S+), and health and reload at (http://[^;]+)`)

func (s *service) start(config string) error {
	s.cmd = exec.Command(s.o.command, "serve", "--config", config, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	log := &output{seen: make(chan [2]string, 1)}
	s.cmd.Stderr = log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	select {
	case at := <-log.seen:
		s.api, s.admin = at[0], at[1]
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("the service does not begin:\n%s", log.String())
	}
}

// output is what the service writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	seen chan [2]string
	told bool
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if at := addresses.FindSubmatch(o.text.Bytes()); at != nil && !o.told {
		o.told = true
		o.seen <- [2]string{string(at[1]), string(at[2])}
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// stop ends the service and removes its files.
func (s *service) stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(os.Interrupt)
		_ = s.cmd.Wait()
	}
	_ = os.RemoveAll(s.dir)
}

func (s *service) send(ctx context.Context, method, url string, body any) ([]byte, error) {
	data, _, err := s.sendAs(ctx, s.key, method, url, body)
	return data, err
}

// sendAs sends a request with a key, and returns the id of the record of a build too.
func (s *service) sendAs(ctx context.Context, key, method, url string, body any) (data []byte, build string, _ error) {
	doc, err := json.Marshal(body)
	if err != nil {
		return nil, "", err
	}
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(doc))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	data, err = io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: status %d: %.300s", method, url, answer.StatusCode, data)
	}
	return data, answer.Header.Get("Anchor-Build-Id"), err
}

// fill makes everything that pages show.
func (s *service) fill(ctx context.Context) error {
	if err := s.remember(ctx); err != nil {
		return err
	}
	for n := range 5 { // a user of the same name in another tenant
		if _, _, err := s.sendAs(ctx, s.other, "POST", s.api+"/v1/builds?user=user-7", map[string]any{"pipeline": "plain", "query": fmt.Sprintf(questions[n%len(questions)], n), "window": map[string]any{"max_tokens": 200}, "items": items(3)}); err != nil {
			return err
		}
	}
	jobs := make(chan int)
	failed := make(chan error, 4)
	for range 4 {
		go func() {
			var err error
			for n := range jobs {
				if err == nil {
					err = s.small(ctx, n)
				}
			}
			failed <- err
		}()
	}
	for n := range s.o.builds - 40 {
		if n%200 == 0 { // records that come faster than they are written are dropped
			if err := s.written(ctx); err != nil {
				return err
			}
		}
		jobs <- n
	}
	close(jobs)
	for range 4 {
		if err := <-failed; err != nil {
			return err
		}
	}
	if _, err := s.send(ctx, "POST", s.api+"/v1/builds", map[string]any{"pipeline": "plain", "query": "many", "window": map[string]any{"max_tokens": 20_000}, "items": items(largeItems)}); err != nil {
		return err
	}
	demo := []string{"How do I decode JSON into a struct?", "How do I sort a slice?", "How do I parse command-line flags?", "What is a context?"}
	for n := range 16 {
		if _, err := s.send(ctx, "POST", s.api+"/v1/builds?conversation=support-7&remember=true", map[string]any{"pipeline": "docs", "query": demo[n%len(demo)]}); err != nil {
			return err
		}
	}
	for n := range 22 {
		if err := s.small(ctx, 5*n); err != nil {
			return err
		}
	}
	var err error
	if _, s.degraded, err = s.sendAs(ctx, s.key, "POST", s.api+"/v1/builds?user=ann&session=web-19", map[string]any{"pipeline": "support", "query": "My parcel was returned to you. When do I get my refund?", "items": items(12)}); err != nil {
		return err
	}
	return s.await(ctx)
}

// remember stores facts and frames. One fact is hostile.
func (s *service) remember(ctx context.Context) error {
	facts := []string{"The customer prefers short answers.", "<script>document.title='broken'</script>\u202e and \x00 characters", strings.Repeat("A long fact. ", 400)}
	for i, text := range facts {
		data, err := s.send(ctx, "POST", s.api+"/v1/memory/facts", map[string]any{"content": text, "tags": []string{"demo"}, "user_id": fmt.Sprint("user-", i)})
		if err != nil {
			return err
		}
		var added struct {
			Fact struct {
				ID string `json:"id"`
			} `json:"fact"`
		}
		if err := json.Unmarshal(data, &added); err != nil {
			return err
		}
		s.fact = added.Fact.ID
	}
	s.run = "run-1"
	for _, kind := range []string{"intent_analysis", "plan_created", "step_result"} {
		_, _ = s.send(ctx, "POST", s.api+"/v1/runs/"+s.run+"/frames", map[string]any{"kind": kind, "summary": "What the agent found: " + kind, "data": map[string]any{"rows": 3}})
	}
	return nil
}

// questions are what users ask.
var questions = []string{
	"Where is my refund for order %d?", "How do I change the address of order %d?", "The lamp of order %d arrived broken. What can I do?", "May I cancel order %d after it was sent, and who pays for the parcel that comes back to you?",
	"Which guarantee has the chair of order %d?", "I was charged twice for order %d.", "Do you send order %d to Norway?",
}

// small builds a small window.
func (s *service) small(ctx context.Context, n int) error {
	_, err := s.send(ctx, "POST", s.api+fmt.Sprintf("/v1/builds?conversation=chat-%d&user=user-%d", n%20, n%20), map[string]any{"pipeline": "plain", "query": fmt.Sprintf(questions[n%len(questions)], 1000+n), "window": map[string]any{"max_tokens": 200}, "items": items(3 + n%9)})
	return err
}

func items(n int) []map[string]any {
	sources := []string{"retrieval", "tool", "memory", "conversation"}
	random := rand.New(rand.NewPCG(1, uint64(n)))
	var list []map[string]any
	for i := range n {
		list = append(list, map[string]any{
			"id": fmt.Sprintf("item-%d", i), "source": sources[random.IntN(len(sources))], "score": random.Float64(), "priority": 1 + random.IntN(10),
			"content": strings.Repeat("words of an item that somebody wrote down ", 1+random.IntN(3)),
		})
	}
	return list
}

var buildLink = regexp.MustCompile(`build\?id=([A-Za-z0-9._-]+)`)

// await waits until the records are written, and reads the ids of the newest builds.
func (s *service) await(ctx context.Context) error {
	if err := s.written(ctx); err != nil {
		return err
	}
	page, err := s.reader.get(ctx, "/console/builds")
	if err != nil {
		return err
	}
	for _, m := range buildLink.FindAllStringSubmatch(page, -1) {
		s.newest = append(s.newest, m[1])
	}
	if len(s.newest) != 50 {
		return fmt.Errorf("the list shows %d builds", len(s.newest))
	}
	return nil
}

var records = regexp.MustCompile(`kept, (\d+) dropped, (\d+) failed, (\d+) waiting`)

// written waits until no record waits to be written.
func (s *service) written(ctx context.Context) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		page, err := s.reader.get(ctx, "/console/")
		if err != nil {
			return err
		}
		m := records.FindStringSubmatch(page)
		switch {
		case m == nil:
			return errors.New("the first page does not say how many records wait")
		case m[1] != "0" || m[2] != "0":
			return fmt.Errorf("records of builds: %s", m[0])
		case m[3] == "0":
			return nil
		case time.Now().After(deadline):
			return errors.New("records of builds are not written within a minute")
		}
	}
}

// session reads pages without a browser.
type session struct {
	s      *service
	cookie string
}

func (c *session) get(ctx context.Context, path string) (string, error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if c.cookie == "" {
		r, err := http.NewRequestWithContext(ctx, "POST", c.s.admin+"/console/sign-in", strings.NewReader("key="+c.s.key))
		if err != nil {
			return "", err
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := client.Do(r)
		if err != nil {
			return "", err
		}
		_ = answer.Body.Close()
		for _, k := range answer.Cookies() {
			c.cookie = k.Name + "=" + k.Value
		}
	}
	r, err := http.NewRequestWithContext(ctx, "GET", c.s.admin+path, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Cookie", c.cookie)
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d", path, answer.StatusCode)
	}
	return string(data), err
}

// largeBuild is the id of the build with many items: it came before the last 39.
func (s *service) largeBuild() string { return s.newest[39] }

// pages are the pages to walk, by the names of their screenshots.
func (s *service) pages() []address {
	demo := s.newest[24]
	return []address{
		{"now", "/console/"}, {"builds", "/console/builds"}, {"builds-filtered", "/console/builds?pipeline=docs&outcome=ok"},
		{"build", "/console/build?id=" + demo}, {"build-degraded", "/console/build?id=" + s.degraded}, {"builds-searched", "/console/builds?text=broken&user=user-7"}, {"builds-tenant", "/console/builds?tenant=globex"},
		{"keys", "/console/keys"}, {"collections", "/console/collections"}, {"build-large", "/console/build?id=" + s.largeBuild()},
		{"diff", "/console/diff?a=" + s.newest[25] + "&b=" + demo}, {"diff-form", "/console/diff"},
		{"conversations", "/console/conversations"}, {"costs", "/console/costs"}, {"conversation", "/console/conversation?id=support-7"},
		{"plugins", "/console/plugins"}, {"memory", "/console/memory"}, {"fact", "/console/fact?id=" + s.fact}, {"run", "/console/run?id=" + s.run},
		{"configuration", "/console/configuration"}, {"missing", "/console/build?id=none"},
	}
}

// address is a page to look at.
type address struct{ name, path string }
