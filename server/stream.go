package server

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/pipeline"
)

const (
	// maxEvents is how many events wait for a client. Those of steps beyond it are left out, because
	// a slow client must not delay the build.
	maxEvents = 1024
	// heartbeat is the time without an event after which a comment is sent, which shows whether the
	// client is there.
	heartbeat = 15 * time.Second
)

// event is an event of a build.
type event struct {
	name string
	data any
}

// stepEvent is the data of the events step.started, step.finished and step.failed.
type stepEvent struct {
	Step string `json:"step"`
	// Items is the number of items before the step, or after it. A step that failed has none.
	Items  *int            `json:"items,omitempty"`
	TimeMS *float64        `json:"time_ms,omitempty"`
	Error  *failure.Detail `json:"error,omitempty"`
}

// startEvent is the data of the event build.started.
type startEvent struct {
	// Build is the ID of the record, empty if none is kept.
	Build string `json:"build,omitempty"`
}

// errorEvent is the data of the event error.
type errorEvent struct {
	Status int `json:"status"`
	failure.Document
}

// accepts reports whether a client names a type among those that it accepts.
func accepts(accept []string, want string) bool {
	for _, header := range accept {
		for part := range strings.SplitSeq(header, ",") {
			if kind, _, err := mime.ParseMediaType(part); err == nil && kind == want {
				return true
			}
		}
	}
	return false
}

// streamBuild builds, and writes the events of the build as they come. A request that fails before
// the build begins gets an ordinary answer. omit names members that the result lacks.
func (c *call) streamBuild(omit []string) (any, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	events, done := make(chan event, maxEvents), make(chan struct{})
	go func() {
		defer close(done)
		c.writeEvents(events, cancel)
	}()
	var err error
	var last bytes.Buffer
	func() { // also if the build panics, nobody writes after this
		defer func() {
			c.leave(http.StatusOK, int64(last.Len()))
			close(events)
			<-done
		}()
		var result *pipeline.Result
		if result, err = c.runBuild(ctx, []pipeline.Callback{c.callback(events)}); err != nil {
			return
		}
		if err = appendEvent(&last, event{"result", &partly{result, omit}}); err != nil {
			return
		}
		tenant, size := c.info.Principal.Tenant, int64(last.Len())
		if !c.s.answers.TakeOne(tenant, size) {
			err = errUnread
			return
		}
		c.after = append(c.after, func() { c.s.answers.Give(tenant, size) })
	}()
	if c.w.status == 0 && err != nil {
		return nil, err
	}
	if err != nil {
		status, doc := c.failure(err)
		last.Reset()
		_ = appendEvent(&last, event{"error", errorEvent{status, doc}}) // an error document can be written
	}
	if failed := c.send(last.Bytes()); failed != nil && err == nil {
		err = failed
	}
	return written{}, err
}

// callback returns the callback that makes events.
func (c *call) callback(events chan<- event) pipeline.Callback {
	send := func(name string, data any) error {
		select {
		case events <- event{name, data}:
		default: // the client is slow
		}
		return nil
	}
	return pipeline.Callback{
		OnPipelineStart: func(context.Context, *pipeline.Query) error {
			return send("build.started", startEvent{c.w.Header().Get(buildIDHeader)})
		},
		OnStepStart: func(_ context.Context, step string, items pipeline.ItemsView) error {
			n := items.Len()
			return send("step.started", stepEvent{Step: step, Items: &n})
		},
		OnStepEnd: func(_ context.Context, step string, items pipeline.ItemsView, took time.Duration) error {
			n, ms := items.Len(), float64(took.Microseconds())/1000
			return send("step.finished", stepEvent{Step: step, Items: &n, TimeMS: &ms})
		},
		OnStepError: func(_ context.Context, step string, err error) error {
			detail := failure.Public(err).Error
			return send("step.failed", stepEvent{Step: step, Error: &detail})
		},
	}
}

// writeEvents writes events until there are no more. It cancels the build if the client is gone.
func (c *call) writeEvents(events <-chan event, cancel context.CancelFunc) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	gone := false
	for {
		var err error
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			if !gone {
				err = c.writeEvent(e)
			}
		case <-beat.C:
			if c.w.status != 0 && !gone {
				if _, err = c.w.Write([]byte(":\n\n")); err == nil {
					err = c.w.control.Flush()
				}
			}
		}
		if err != nil {
			gone = true
			cancel()
		}
	}
}

// writeEvent writes an event.
func (c *call) writeEvent(e event) error {
	b := buffers.Get().(*bytes.Buffer)
	defer func() {
		if b.Cap() <= maxKept {
			b.Reset()
			buffers.Put(b)
		}
	}()
	if err := appendEvent(b, e); err != nil {
		return err
	}
	return c.send(b.Bytes())
}

func appendEvent(b *bytes.Buffer, e event) error {
	b.WriteString("event: " + e.name + "\ndata: ")
	if err := encode(b, e.data); err != nil { // JSON has no line break but the one at its end
		return err
	}
	b.WriteByte('\n')
	return nil
}

// send writes to a stream. The first call begins the answer.
func (c *call) send(data []byte) error {
	if c.w.status == 0 {
		h := c.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
		c.w.WriteHeader(http.StatusOK)
	}
	if _, err := c.w.Write(data); err != nil {
		return err
	}
	return c.w.control.Flush()
}
