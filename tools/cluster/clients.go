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
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// clients are what uses the cluster: each sends a request when it has the answer to the one before.
type clients struct {
	url   string
	keys  map[string]string
	begin time.Time
	seed  uint64

	round  atomic.Int64 // logs have its number in their names, so that their histories stay short
	number atomic.Int64

	mu      sync.Mutex
	history []operation
	tally
}

// tally counts answers.
type tally struct {
	done, refused, unknown, conflicts int
	// untold are refusals without Retry-After.
	untold int
	times  []time.Duration // of what was done
	others map[string]int  // answers that no fault excuses
	why    map[string]int  // refusals, by host and message
	// lastDone and gap are when something was done last, and the longest time in which nothing was.
	lastDone time.Time
	gap      time.Duration
}

const (
	conversations = 3
	perSecond     = 400 // most operations that are recorded of a second, so that histories can be checked
)

func newClients(url string, keys map[string]string, seed uint64) *clients {
	return &clients{url: url, keys: keys, begin: time.Now(), seed: seed, tally: tally{others: map[string]int{}, why: map[string]int{}}}
}

// run lets n clients work until ctx ends. Those that have been refused wait, as they are told.
func (c *clients) run(ctx context.Context, n int) {
	rounds := time.NewTicker(time.Second)
	defer rounds.Stop()
	var wg sync.WaitGroup
	for id := range n {
		wg.Go(func() { c.one(ctx, id, time.Second*time.Duration(n)/perSecond) })
	}
	for ctx.Err() == nil {
		select {
		case <-rounds.C:
			c.round.Add(1)
		case <-ctx.Done():
		}
	}
	wg.Wait()
}

// one is the loop of one client. every is the least time between its operations.
func (c *clients) one(ctx context.Context, id int, every time.Duration) {
	random := rand.New(rand.NewPCG(c.seed, uint64(id)))
	http := &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{DisableCompression: true}}
	defer http.CloseIdleConnections()
	for ctx.Err() == nil {
		begin := time.Now()
		o := c.draw(random, id)
		wait := c.do(http, o)
		c.add(*o)
		select {
		case <-ctx.Done():
		case <-time.After(max(wait/10, every-time.Since(begin))): // a tenth: the more is tried, the more is found
		}
	}
}

// draw makes an operation: mostly appends, on a few logs of two tenants.
func (c *clients) draw(random *rand.Rand, id int) *operation {
	o := &operation{client: id, tenant: tenants[random.IntN(2)]}
	round, n := c.round.Load(), random.IntN(conversations+1)
	what := "conversations"
	if n == conversations {
		what = "runs"
	}
	o.log = fmt.Sprintf("%s/r%d-%d", what, round, n)
	switch p := random.IntN(100); {
	case p < 2 && n == 0:
		o.kind = deletes
	case p < 35:
		o.kind = reads
	default:
		o.entry.text = fmt.Sprintf("%s%d", mark(o.tenant), c.number.Add(1))
	}
	return o
}

// names are what differs among messages that say the same.
var names = regexp.MustCompile(`(acme|initech)?/?(conversation|run|turn|frame|digest|state)?[ /]"?r\d+-\d"?|last \d+ calls`)

// errStatus is an answer that is no success.
type errStatus struct {
	status int
	reason string
	retry  string // Retry-After
	host   string
	body   string
}

func (e *errStatus) Error() string { return fmt.Sprintf("status %d: %.200s", e.status, e.body) }

// message is the message of the document, or the whole body.
func (e *errStatus) message() string {
	var doc struct{ Error struct{ Message string } }
	if json.Unmarshal([]byte(e.body), &doc) == nil && doc.Error.Message != "" {
		return doc.Error.Message
	}
	return strings.TrimSpace(e.body)
}

// call sends a request and decodes the answer.
func call(client *http.Client, method, url, key string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, url, body)
	if err != nil {
		return err
	}
	req.GetBody = nil
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		var doc struct{ Error struct{ Reason string } }
		_ = json.Unmarshal(data, &doc) // that of the balancer is no document
		return &errStatus{resp.StatusCode, doc.Error.Reason, resp.Header.Get("Retry-After"), resp.Header.Get("X-Host"), string(data)}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// do runs an operation and enters what came of it. wait is how long the client is told to wait.
func (c *clients) do(client *http.Client, o *operation) (wait time.Duration) {
	url, key := c.url+"/v1/"+o.log, c.keys[o.tenant]
	isRun := o.log[0] == 'r'
	list := url + "/turns"
	if isRun {
		list = url + "/frames"
	}
	var doc struct {
		Turns []struct {
			Content  string
			Sequence int64
		}
		Frames []frameDoc
		Frame  int64 `json:"frame_id"`
	}
	o.call = int64(time.Since(c.begin))
	var err error
	switch {
	case o.kind == reads:
		if err = call(client, http.MethodGet, list+"?limit=1000", key, nil, &doc); isNotFound(err) {
			err = nil // a log without entries
		}
	case o.kind == deletes:
		err = call(client, http.MethodDelete, url, key, nil, nil)
	case isRun:
		if err = call(client, http.MethodPost, list, key, map[string]any{"kind": "checkpoint", "summary": o.entry.text}, &doc); err == nil {
			o.entry.number = doc.Frame + 1
		}
	default:
		in := map[string]any{"turns": []map[string]any{{"role": "user", "content": o.entry.text}}}
		if err = call(client, http.MethodPost, list, key, in, &doc); err == nil && len(doc.Turns) == 1 {
			o.entry.number = doc.Turns[0].Sequence
		}
	}
	o.ret = int64(time.Since(c.begin))
	if o.kind == reads {
		for _, t := range doc.Turns {
			o.seen = append(o.seen, entry{t.Content, t.Sequence})
		}
		for _, f := range doc.Frames {
			o.seen = append(o.seen, entry{f.Summary, f.ID + 1})
		}
	}
	return c.judge(o, err)
}

type frameDoc struct {
	ID      int64 `json:"frame_id"`
	Summary string
}

func isNotFound(err error) bool {
	var status *errStatus
	return errors.As(err, &status) && status.status == http.StatusNotFound
}

// judge enters the outcome of an operation.
func (c *clients) judge(o *operation, err error) (wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var status *errStatus
	switch {
	case err == nil:
		c.done++
		c.times = append(c.times, time.Duration(o.ret-o.call))
		now := time.Now()
		if !c.lastDone.IsZero() {
			c.gap = max(c.gap, now.Sub(c.lastDone))
		}
		c.lastDone = now
		return 0
	case !errors.As(err, &status), status.status == http.StatusBadGateway, status.status == http.StatusGatewayTimeout:
		o.outcome = unknown
		c.unknown++
		return time.Second / 10
	case status.status == http.StatusConflict:
		o.outcome = refused
		c.conflicts++
		return 0
	case status.status == http.StatusServiceUnavailable, status.status == http.StatusInsufficientStorage:
		if o.outcome = refused; status.reason == "outcome_unknown" {
			o.outcome = unknown
			c.unknown++
		} else {
			c.refused++
			c.why[status.host+" "+names.ReplaceAllString(status.message(), "…")]++
		}
		if status.retry == "" && status.status == http.StatusServiceUnavailable {
			c.untold++
		}
		return time.Second
	}
	o.outcome = unknown
	c.others[err.Error()]++
	return 0
}

// add records an operation.
func (c *clients) add(o operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, o)
}

// finish reads every log once more, and judges the history.
func (c *clients) finish(ctx context.Context) (*verdict, error) {
	type name struct{ tenant, log string }
	seen := map[name]bool{}
	var list []name
	for _, o := range c.history {
		if n := (name{o.tenant, o.log}); !seen[n] {
			seen[n] = true
			list = append(list, n)
		}
	}
	client := &http.Client{Timeout: 15 * time.Second}
	defer client.CloseIdleConnections()
	for _, n := range list {
		o := operation{tenant: n.tenant, log: n.log, kind: reads}
		for try := 0; ; try++ {
			o.outcome, o.seen = done, nil
			if c.do(client, &o); o.outcome == done {
				break
			}
			if try == 100 {
				return nil, fmt.Errorf("%s of %s cannot be read after the faults", n.log, n.tenant)
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
		}
		c.history = append(c.history, o)
	}
	return judge(c.history), nil
}

// take returns the tally, and begins another one.
func (c *clients) take() tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tally
	if !t.lastDone.IsZero() {
		t.gap = max(t.gap, time.Since(t.lastDone))
	}
	c.tally = tally{others: t.others, why: map[string]int{}, lastDone: time.Now()}
	t.times = slices.Clone(t.times)
	slices.Sort(t.times)
	return t
}

// percentile returns the value below which a share of sorted times lies.
func percentile(times []time.Duration, share float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[min(len(times)-1, int(share*float64(len(times))))]
}

// flood sends requests of the tenant with a limit for a time, as fast as some clients can, and returns how many
// were answered.
func (c *clients) flood(ctx context.Context, n int, length time.Duration) (answered int64) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var count atomic.Int64
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableCompression: true}}
			defer client.CloseIdleConnections()
			for ctx.Err() == nil {
				if call(client, http.MethodGet, c.url+"/v1/conversations/none/turns", c.keys[limited], nil, nil) == nil {
					count.Add(1)
				}
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	wg.Wait()
	return count.Load()
}
