package following

import (
	"context"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/server"
)

// notOurs are the reasons of failures that say nothing about a version: the request is at fault, or its client
// has gone.
var notOurs = []string{"invalid_request", string(abi.ReasonCancelled)}

// observer counts the builds of both versions.
func (h *Host) observer() server.Observer {
	return server.Observer{OnBuild: func(ctx context.Context, b *server.BuildInfo) (context.Context, []pipeline.Callback, func(*pipeline.Result, error)) {
		start, candidate := time.Now(), b.Request.Candidate
		return ctx, nil, func(r *pipeline.Result, err error) {
			if err != nil && slices.Contains(notOurs, failure.Reason(err)) {
				return
			}
			failed, fuel := err != nil, int64(0)
			if d := pipeline.DiagnosticsOf(r, err); d != nil {
				failed = failed || len(d.SkippedSteps) > 0
				for i := range d.Steps {
					fuel += max(0, d.Steps[i].Fuel)
				}
				for i := range d.StepFailures {
					fuel += max(0, d.StepFailures[i].Fuel)
				}
			}
			h.follow.Count(candidate, failed, time.Since(start), fuel)
		}
	}}
}
