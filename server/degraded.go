package server

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// degradedHeader names the steps that a window lacks: "step=memory;reason=timeout", a value for each.
const degradedHeader = "Anchor-Degraded"

const (
	// degradedEvery is how often a kind of degradation is logged.
	degradedEvery = 10 * time.Second
	// maxDegraded bounds the kinds that are known, because requests may name their own steps, and
	// maxDegradedNamed those that one answer names.
	maxDegraded, maxDegradedNamed = 1000, 20
)

// degradation is a kind of missing answer.
type degradation struct{ step, plugin, reason string }

// degradations says when each kind was last logged, and how often it came since.
type degradations struct {
	mu    sync.Mutex
	kinds map[degradation]*said
}

type said struct {
	at     time.Time
	unsaid int
}

// due reports whether a kind is to be logged now, and how many of it were not.
func (d *degradations) due(kind degradation, now time.Time) (unsaid int, due bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.kinds[kind]
	if k == nil {
		if d.kinds == nil || len(d.kinds) >= maxDegraded {
			d.kinds = map[degradation]*said{}
		}
		d.kinds[kind] = &said{at: now}
		return 0, true
	}
	if now.Sub(k.at) < degradedEvery {
		k.unsaid++
		return 0, false
	}
	unsaid, k.at, k.unsaid = k.unsaid, now, 0
	return unsaid, true
}

// nameDegraded names in the header the steps that the window of an answer lacks.
func (c *call) nameDegraded(d *pipeline.Diagnostics) {
	for i := range d.StepFailures[:min(len(d.StepFailures), maxDegradedNamed)] {
		f := &d.StepFailures[i]
		value := "step=" + url.QueryEscape(f.Step)
		if f.Reason != "" {
			value += ";reason=" + url.QueryEscape(f.Reason)
		}
		c.w.Header().Add(degradedHeader, value)
	}
}

// warnDegraded says in the log what a window lacks that was built all the same.
func (c *call) warnDegraded(d *pipeline.Diagnostics, build string) {
	for i := range d.StepFailures {
		f := &d.StepFailures[i]
		c.logDegraded("step skipped", degradation{f.Step, f.Plugin, f.Reason}, f.Message, build)
	}
	if len(d.Lost) > 0 {
		c.logDegraded("parts of turns left out", degradation{reason: "lost"}, strings.Join(d.Lost[:min(len(d.Lost), 3)], "; "), build)
	}
}

// logDegraded logs one kind of degradation, unless it was logged a moment ago.
func (c *call) logDegraded(message string, kind degradation, text, build string) {
	unsaid, due := c.s.degraded.due(kind, time.Now())
	if !due {
		return
	}
	args := []any{"request", c.info.ID, "key", c.info.Principal.KeyID, "error", text}
	if kind.step != "" {
		args = append(args, "step", kind.step, "plugin", kind.plugin, "reason", kind.reason)
	}
	if build != "" {
		args = append(args, "build", build)
	}
	if unsaid > 0 {
		args = append(args, "unsaid", unsaid)
	}
	c.s.log.Log(context.WithoutCancel(c.ctx), slog.LevelWarn, message, args...)
}
