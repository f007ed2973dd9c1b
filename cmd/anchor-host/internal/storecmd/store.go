// Package storecmd implements "anchor-host store": backups of the store, and checks.
package storecmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/storeurl"
)

// Command returns "store".
func Command(a *cli.App) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "store",
		Short: "Back up, restore, check and copy the store",
		Long: `The store has the records and collections of all tenants: one file, or a PostgreSQL
database that hosts share. It is that of --store, of store.path in anchor.yaml, or the
default of the user. PostgreSQL has its own tools to back up and restore a database.`,
		Example: `  anchor-host store backup store-2026-11-27.db
  anchor-host store check store-2026-11-27.db
  anchor-host store restore store-2026-11-27.db
  anchor-host store copy store.db postgres://anchor@db.example/anchor`,
	})
	cmd.AddCommand(backup(a), restore(a), check(a), copyStore(a))
	return cmd
}

func backup(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup [flags] FILE",
		Short: "Copy the whole store into a new file, also while it is in use",
		Long: `Copy the whole store into a new file, as it is at one moment. Programs that use the store
go on meanwhile. The copy is checked completely and written to the disk before it
gets its name, so a file of this name is a good backup. Only its owner can read it.

It has everything that the store has: keys of serve, anchor.yaml and plugins are in
files of their own.`,
		Example: `  anchor-host store backup /backup/store-$(date +%F).db
  anchor-host store backup --store service.db copy.db -o json`,
		Args: cli.Exactly("FILE"),
	}
	return withStore(a, cmd, func(cmd *cobra.Command, path string, args []string) (report, error) {
		c, err := agentstore.Backup(cmd.Context(), path, args[0])
		return report{args[0], c.Schema, c.Records, c.Bytes}, err
	})
}

func restore(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore [flags] FILE",
		Short: "Make the store of a backup",
		Long: `Check a backup, and copy it to where the store belongs. First end the programs that use the
store, and move the old one away, all its files: store.db, store.db-wal and
store.db-shm. The command replaces nothing.

A backup that an older anchor-host has made is brought up to date when the store is
first opened. One that a newer anchor-host has made is refused.`,
		Example: `  mkdir old && mv store.db* old/
  anchor-host store restore store-2026-11-27.db --store store.db`,
		Args: cli.Exactly("FILE"),
	}
	return withStore(a, cmd, func(cmd *cobra.Command, path string, args []string) (report, error) {
		c, err := agentstore.Restore(cmd.Context(), args[0], path)
		return report{path, c.Schema, c.Records, c.Bytes}, err
	})
}

func check(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [flags] [FILE]",
		Short: "Read the whole store, or a backup, and find damage",
		Long: `Read the whole store, or the backup FILE, and verify its structure and the checksum of each
record. Nothing is changed. The exit code is 1 if there is damage.`,
		Example: `  anchor-host store check
  anchor-host store check store-2026-11-27.db`,
		Args: cobra.MaximumNArgs(1),
	}
	return withStore(a, cmd, func(cmd *cobra.Command, path string, args []string) (report, error) {
		if len(args) == 1 {
			path = args[0]
		}
		c, err := agentstore.Examine(cmd.Context(), path)
		return report{storeurl.Address(path), c.Schema, c.Records, c.Bytes}, err
	})
}

// report describes a file that is good.
type report struct {
	File    string `json:"file" yaml:"file"`
	Schema  int    `json:"schema" yaml:"schema"`
	Records int64  `json:"records" yaml:"records"`
	Bytes   int64  `json:"bytes" yaml:"bytes"`
}

// withStore adds the flags that name a store to a command, which prints a report.
func withStore(a *cli.App, cmd *cobra.Command, work func(cmd *cobra.Command, path string, args []string) (report, error)) *cobra.Command {
	cli.ConfigFlag(cmd)
	cli.StoreFileFlag(cmd)
	return a.Command(cmd, func(cmd *cobra.Command, args []string) (l cli.Listing, err error) {
		loaded, err := a.Load(cmd)
		if err != nil {
			return l, err
		}
		path := loaded.StorePath()
		if !storeurl.Is(path) {
			if path, err = agentstore.Path(path); err != nil {
				return l, err
			}
		}
		r, err := work(cmd, path, args)
		return cli.Listing{
			Header: []string{"FILE", "SCHEMA", "RECORDS", "BYTES"}, Data: r,
			Rows: [][]string{{cli.OneCell(r.File), fmt.Sprint(r.Schema), fmt.Sprint(r.Records), fmt.Sprint(r.Bytes)}},
		}, err
	})
}
