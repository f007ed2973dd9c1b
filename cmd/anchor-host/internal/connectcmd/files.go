package connectcmd

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/internal/agents/repo"
	"github.com/anchor-host/anchor-host/internal/agentstore"
)

// files reads the files of the project in the current folder into the store, or forgets them. Later sessions only
// read what changed.
func files(a *cli.App, cmd *cobra.Command, forget bool) (err error) {
	ctx := cmd.Context()
	loaded, err := a.LoadNamed(cmd)
	if err != nil {
		return err
	}
	p, err := project.Identify(ctx, ".")
	if err != nil {
		return err
	}
	s, err := agentstore.Open(ctx, loaded.StorePath(), "normal")
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, s.Close()) }()
	source, err := repo.Open(s, p, repo.Options{Tenant: loaded.TenantName()})
	if err != nil {
		return err
	}
	if forget {
		if err := source.Drop(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		a.Say("files of %s: forgotten", cli.OneCell(p.Name))
		return nil
	}
	progress := cli.NewProgress(a)
	defer progress.Stop()
	progress.Start("reading the files of " + cli.OneCell(p.Name))
	r, err := source.Refresh(ctx, repo.Bounds{})
	progress.Stop()
	if err != nil {
		return err
	}
	a.Say("files of %s: %d read, %d unchanged, %d left out, in %.1f s", cli.OneCell(p.Name), r.Added+r.Changed, r.Unchanged, r.Skipped, r.Seconds)
	switch {
	case r.Why == "files":
		a.Say("warning: only the first %d files of the project are searched (let .gitignore leave out what is not worth it)", repo.DefaultFiles)
	case !r.Done:
		a.Say("warning: the project is larger than the bound on %s; the next session goes on", r.Why)
	}
	return nil
}
