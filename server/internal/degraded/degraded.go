// Package degraded says in the log and in the header of an answer what the answer lacks.
package degraded

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/anchor-host/anchor-host/internal/seldom"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Header names what an answer lacks: "step=memory;reason=timeout", a value for each.
const Header = "Anchor-Degraded"

// named bounds the kinds that one answer names.
const named = 20

// Unpriced is the kind of a model whose price is not known. Only the log says it: the window lacks nothing.
const Unpriced = "unpriced"

// texts are the messages of the log, by the kind of the degradation.
var texts = map[string]string{
	core.KindSkipped: "step skipped", core.KindCut: "result cut", core.KindDropped: "message left out",
	core.KindMissing: "collection missing", core.KindUnanswered: "service gave no answer", core.KindOver: "messages over budget", Unpriced: "model without a price",
}

// kind is what is logged once in a while.
type kind struct{ kind, step, plugin, reason string }

// Log logs degradations, each kind once in a while. It is safe for concurrent use; the zero value is
// ready.
type Log struct{ kinds seldom.Kinds[kind] }

// Warn logs what an answer lacks, in one line for each kind that was not logged a moment ago. args
// say which answer. An answer that lacks nothing has it count those of before that were not logged.
func (l *Log) Warn(ctx context.Context, to *slog.Logger, list []core.Degradation, args ...any) {
	l.warn(ctx, to, list, time.Now(), args...)
}

func (l *Log) warn(ctx context.Context, to *slog.Logger, list []core.Degradation, now time.Time, args ...any) {
	ctx = context.WithoutCancel(ctx)
	for i := range list {
		d := &list[i]
		unsaid, due := l.kinds.Due(kind{d.Kind, d.Step, d.Plugin, d.Reason}, now)
		if !due {
			continue
		}
		line := append([]any{"step", d.Step, "plugin", d.Plugin, "reason", d.Reason, "error", d.Message}, args...)
		if unsaid > 0 {
			line = append(line, "unsaid", unsaid)
		}
		to.Log(ctx, slog.LevelWarn, texts[d.Kind], line...)
	}
	for k, unsaid := range l.kinds.Late(now) {
		to.Log(ctx, slog.LevelWarn, texts[k.kind], "step", k.step, "plugin", k.plugin, "reason", k.reason, "unsaid", unsaid)
	}
}

// Name names in a header what an answer lacks.
func Name(h http.Header, list []core.Degradation) {
	for i := range list[:min(len(list), named)] {
		d := &list[i]
		value := "step=" + url.QueryEscape(d.Step)
		if d.Step == "" {
			value = "kind=" + url.QueryEscape(d.Kind)
		}
		if d.Reason != "" {
			value += ";reason=" + url.QueryEscape(d.Reason)
		}
		h.Add(Header, value)
	}
}
