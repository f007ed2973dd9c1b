package memorycmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// collectFlags are the flags of memory gc.
type collectFlags struct {
	threshold float64
	decay     string
	halfLife  time.Duration
	dryRun    bool
}

func collect(a *cli.App) *cobra.Command {
	var f collectFlags
	cmd := &cobra.Command{
		Use:   "gc [flags]",
		Short: "Delete facts that have expired or faded",
		Long: `Delete the facts that have expired. With --threshold also delete facts whose
retention is below that value. Retention is 1 right after a use and falls to 0.
With linear decay it falls to 0.5 within the half-life and to 0 within twice that
time. On the Ebbinghaus curve it falls faster at first, and more slowly the more
often the fact was used. It also deletes what is older than store.keep allows:
conversations, agent runs and facts. --dry-run does not look at that.`,
		Example: `  anchor-host memory gc --dry-run
  anchor-host memory gc --threshold 0.1 --half-life 720h`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.Float64Var(&f.threshold, "threshold", 0, "also delete facts whose retention is below this, 0 to 1")
	flags.StringVar(&f.decay, "decay", "linear", "how retention falls: linear or ebbinghaus")
	flags.DurationVar(&f.halfLife, "half-life", memory.DefaultHalfLife, "half-life of the linear decay")
	flags.BoolVar(&f.dryRun, "dry-run", false, "delete nothing; list what would be deleted")
	return records.Command(a, records.Delete, cmd, func(ctx context.Context, s *records.Session, _ []string) (cli.Listing, error) {
		c, err := f.collector(s)
		if err != nil {
			return cli.Listing{}, err
		}
		l, err := deleteFacts(ctx, s, c, f.dryRun)
		if err != nil || f.dryRun {
			return l, err
		}
		if err := deleteOld(ctx, s, &l); err != nil {
			return l, err
		}
		emptyLog(ctx, s)
		return l, nil
	})
}

func (f *collectFlags) collector(s *records.Session) (c memory.Collector, err error) {
	if err := checkShare(s, "threshold", f.threshold); err != nil {
		return c, err
	}
	if f.halfLife <= 0 {
		return c, s.Usagef("flag --half-life: want more than 0, got %v", f.halfLife)
	}
	var decay memory.Decay
	switch f.decay {
	case "linear":
		decay = memory.Linear{HalfLife: f.halfLife}
	case "ebbinghaus":
		decay = memory.DefaultEbbinghaus
	default:
		return c, s.Usagef("flag --decay: want one of linear, ebbinghaus, got %q", f.decay)
	}
	if f.threshold > 0 {
		c.Decay, c.Threshold = decay, f.threshold
	}
	return c, nil
}

// collected is one fact that a collection deletes.
type collected struct {
	Why  string       `json:"why"`
	Fact memory.Entry `json:"fact"`
}

// collection is the document of memory gc.
type collection struct {
	memory.Collection
	Facts []collected `json:"facts"`
	// Old is what was older than store.keep allows.
	Old anchor.Aged `json:"older_than_kept"`
}

// deleteFacts deletes the facts that a collector chooses.
func deleteFacts(ctx context.Context, s *records.Session, c memory.Collector, dryRun bool) (cli.Listing, error) {
	m, err := s.Facts(ctx, "")
	if err != nil {
		return cli.Listing{}, err
	}
	taken := []collected{}
	take := func(why string, entries []memory.Entry) {
		for _, e := range entries {
			taken = append(taken, collected{why, e})
		}
	}
	c.OnExpired = func(_ context.Context, entries []memory.Entry) { take("expired", entries) }
	c.OnDecayed = func(_ context.Context, entries []memory.Entry, _ float64) { take("faded", entries) }
	result, err := m.Collect(ctx, c, dryRun)
	if err != nil {
		return cli.Listing{}, err
	}
	doc := &collection{Collection: result, Facts: taken}
	verb := "deleted"
	if dryRun {
		verb = "would be deleted"
	}
	l := cli.Listing{Header: []string{"FACT", "WHY", "TEXT"}, Data: doc}
	for i := range taken {
		l.Rows = append(l.Rows, []string{cli.OneCell(taken[i].Fact.ID), taken[i].Why + ", " + verb, cli.Excerpt(taken[i].Fact.Content)})
	}
	l.Rows = append(l.Rows, []string{"-", fmt.Sprintf("%d remain", result.Remaining), ""})
	return l, nil
}

// deleteOld deletes what is older than store.keep allows, and adds to the list how much that was.
func deleteOld(ctx context.Context, s *records.Session, l *cli.Listing) error {
	done, err := s.DeleteOld(ctx, "")
	l.Data.(*collection).Old = done
	for _, n := range []struct {
		what   string
		number int
	}{{"conversations", done.Conversations}, {"runs", done.Runs}, {"facts", done.Facts}} {
		if n.number > 0 {
			l.Rows = append(l.Rows, []string{"-", fmt.Sprintf("%d %s older than store.keep, deleted", n.number, n.what), ""})
		}
	}
	return err
}
