package agent

import (
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Degraded returns what the list for the model lacks, or has too much.
func (d *Diagnostics) Degraded() (list []core.Degradation) {
	for i := range d.Providers {
		p := &d.Providers[i]
		add := func(kind, reason, format string, args ...any) {
			list = append(list, core.Degradation{Kind: kind, Step: p.Name, Plugin: p.Plugin, Reason: reason, Message: fmt.Sprintf(format, args...)})
		}
		if p.Outcome == ProviderFailed {
			add(core.KindSkipped, p.Reason, "%s", p.Message)
		}
		if n := len(p.CutResults); n > 0 {
			add(core.KindCut, "budget", "%d results of tools are cut", n)
		}
		if p.LeftOut > 0 {
			add(core.KindDropped, "budget", "%d messages are left out", p.LeftOut)
		}
		if p.DroppedLines > 0 {
			add(core.KindDropped, "summary", "%d lines of a summary are dropped or shortened", p.DroppedLines)
		}
	}
	if d.SkippedTokenizer != "" {
		list = append(list, core.Degradation{Kind: core.KindSkipped, Step: "tokenizer", Message: d.SkippedTokenizer})
	}
	if d.TokensOver+d.MessagesOver > 0 {
		list = append(list, core.Degradation{Kind: core.KindOver, Reason: "budget", Message: fmt.Sprintf("the messages exceed their budget by %d tokens and %d messages", d.TokensOver, d.MessagesOver)})
	}
	for i := range d.Services {
		if s := &d.Services[i]; s.Failed > 0 {
			list = append(list, core.Degradation{
				Kind: core.KindUnanswered, Plugin: s.Plugin, Reason: "unanswered", Message: fmt.Sprintf("%s %q: %d of %d requests have no answer", s.Service, s.Name, s.Failed, s.Calls),
			})
		}
	}
	return list
}
