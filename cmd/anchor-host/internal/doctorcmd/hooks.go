package doctorcmd

import (
	"cmp"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/internal/agents/hooks"
	"github.com/anchor-host/anchor-host/internal/plain"
)

// hookFindings say how the last hooks of coding agents ended. There are none if there were no hooks for a day.
func hookFindings(now time.Time) []finding {
	path, err := hooks.LogPath()
	if err != nil {
		return nil // the finding of the store says so
	}
	reports, err := hooks.ReadLog(path, 1000)
	if err != nil {
		return []finding{{"hooks", statusWarning, err.Error()}}
	}
	recent, failed := 0, 0
	last, lacks := "", ""
	for i := range reports {
		r := &reports[i]
		if now.Sub(r.Time) > 24*time.Hour {
			break
		}
		recent++
		if r.Error != "" {
			if failed++; last == "" {
				last = r.Error
			}
		}
		lacks = cmp.Or(lacks, r.Note)
	}
	switch {
	case recent == 0:
		return nil
	case failed > 0:
		return []finding{{"hooks", statusWarning, plain.Line(fmt.Sprintf("%d of the last %d events were answered with nothing; the newest: %s (all: anchor-host hook log)", failed, recent, last))}}
	case lacks != "":
		return []finding{{"hooks", statusWarning, plain.Line(lacks)}}
	}
	return []finding{{"hooks", statusOK, fmt.Sprintf("%d events in the last day, in %s", recent, path)}}
}
