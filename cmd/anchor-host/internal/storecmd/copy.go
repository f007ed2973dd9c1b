package storecmd

import (
	"cmp"
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/storecopy"
)

// copyStore returns "store copy".
func copyStore(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "copy [flags] FROM TO",
		Short: "Copy a store into another: a file, or a database",
		Long: `Copy all records and collections of the store FROM into the store TO. Each is the path of
a file or the URL of a PostgreSQL database. End the programs that use FROM first.

Each record is read back and compared. What TO has already is compared and not written
again, so run the command again after it was ended. It replaces and deletes nothing in
TO: a record that differs is an error. Vectors of facts are made again.`,
		Example: `  anchor-host store copy store.db postgres://anchor@db.example/anchor
  anchor-host store copy postgres://anchor@db.example/anchor copy.db -o json`,
		Args: cli.Exactly("FROM", "TO"),
	}
	return a.Command(cmd, func(cmd *cobra.Command, args []string) (l cli.Listing, err error) {
		var ends [2]storecopy.End
		for i, name := range args {
			end, done, err := agentstore.OpenCopy(cmd.Context(), name, i == 1)
			if err != nil {
				return l, err
			}
			defer func() { err = cmp.Or(err, done()) }()
			ends[i] = end
		}
		bar := &copyBar{app: a, next: time.Now().Add(copyEvery)}
		r, err := storecopy.Copy(cmd.Context(), ends[0], ends[1], bar.step)
		bar.stop()
		return cli.Listing{
			Header: []string{"TENANTS", "RECORDS", "BYTES", "COLLECTIONS", "DOCUMENTS", "COPIED"}, Data: r,
			Rows: [][]string{{fmt.Sprint(r.Tenants), fmt.Sprint(r.Records), fmt.Sprint(r.Bytes), fmt.Sprint(r.Collections), fmt.Sprint(r.Documents), fmt.Sprint(r.Copied)}},
		}, err
	})
}

// copyEvery is the time between progress lines where there is no terminal, and after which a bar is shown.
const copyEvery = 2 * time.Second

// copyBar shows how many records are done: a bar on a terminal, lines elsewhere.
type copyBar struct {
	app  *cli.App
	next time.Time
	bar  *progressbar.ProgressBar
}

func (b *copyBar) step(done, total int64) {
	if b.bar == nil && time.Now().Before(b.next) {
		return
	}
	if !b.app.Err.Terminal() {
		b.next = time.Now().Add(copyEvery)
		b.app.Say("copy: %d of %d records", done, total)
		return
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(b.app.Err.Drawing()), progressbar.OptionSetDescription("anchor-host: copy"),
			progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
	}
	_ = b.bar.Set64(done) // a missed update does no harm
}

// stop clears the bar.
func (b *copyBar) stop() {
	if b.bar != nil {
		_ = b.bar.Clear() // the next line overwrites the bar anyway
	}
}
