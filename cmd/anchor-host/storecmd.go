package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// storeFlags add the flags of every command that opens the store.
func storeFlags(cmd *cobra.Command) {
	cli.StoreFileFlag(cmd)
	cmd.Flags().String("tenant", "", "tenant that owns the stored data")
}

// sessionFunc is the function of a command that works on the store.
type sessionFunc func(cmd *cobra.Command, args []string, s *session) error

// withStore opens the store for a command that writes to it, and closes it after the command.
func (a *app) withStore(f sessionFunc) func(*cobra.Command, []string) error {
	return a.withStoreFor(anchor.ReadWrite, f)
}

// withStoreToRead does the same for a command that only reads: it also works where the
// store cannot be written.
func (a *app) withStoreToRead(f sessionFunc) func(*cobra.Command, []string) error {
	return a.withStoreFor(anchor.ReadAnyway, f)
}

// withStoreToDelete does the same for a command that frees space. On a full disk it uses the
// space that the store reserves for deleting.
func (a *app) withStoreToDelete(f sessionFunc) func(*cobra.Command, []string) error {
	return a.Run(func(cmd *cobra.Command, args []string) error {
		err := a.useStore(anchor.ReadWrite, f, cmd, args)
		if !errors.Is(err, store.ErrFull) {
			return err
		}
		again := a.useStore(anchor.DeleteOnly, f, cmd, args)
		if errors.Is(again, store.ErrFull) {
			return err
		}
		return again
	})
}

func (a *app) withStoreFor(access anchor.Access, f sessionFunc) func(*cobra.Command, []string) error {
	return a.Run(func(cmd *cobra.Command, args []string) error { return a.useStore(access, f, cmd, args) })
}

// useStore opens the store, runs a command with it, and closes it.
func (a *app) useStore(access anchor.Access, f sessionFunc, cmd *cobra.Command, args []string) (err error) {
	if err := checkSelectors(cmd); err != nil {
		return err
	}
	loaded, err := a.Load(cmd)
	if err != nil {
		return err
	}
	front, err := anchor.Open(cmd.Context(), loaded, anchor.Options{
		Access: access, Logger: a.Logger(&loaded.Config), OnDamaged: a.damaged(), Lazy: true,
	})
	if err != nil {
		return err
	}
	defer func() {
		if closed := front.Close(context.WithoutCancel(cmd.Context())); err == nil {
			err = closed
		}
	}()
	return f(cmd, args, &session{app: a, front: front, tenant: loaded.TenantName()})
}

// damaged returns a function that reports each damaged fact once.
func (a *app) damaged() func(tenant, fact string, err error) {
	var mu sync.Mutex
	said := map[string]bool{}
	return func(_, id string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if !said[id] {
			a.Say("warning: fact %.100q is damaged and left out: %v", id, err)
		}
		said[id] = true
	}
}

// selectors are the flags that select what a command works on. An empty value, as from a shell
// variable that is not set, would select everything.
var selectors = []string{"conversation", "user", "session", "type", "tag", "run", "id", "fact", "only-steps", "skip-steps"}

// checkSelectors refuses selectors that are given but empty.
func checkSelectors(cmd *cobra.Command) error {
	for _, name := range selectors {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		empty := strings.TrimSpace(f.Value.String()) == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values := list.GetSlice()
			empty = len(values) == 0 || slices.ContainsFunc(values, func(s string) bool { return strings.TrimSpace(s) == "" })
		}
		if empty {
			return cli.Usagef(cmd, "flag --%s: the value is empty (leave the flag out, or give it a value)", name)
		}
	}
	return nil
}

// session is one use of the store by a command.
type session struct {
	app   *app
	front *anchor.App
	// tenant is that of the configuration.
	tenant string
}

// text returns a value of the command line, or the content of stdin if the value is "-".
func (a *app) text(value, what string) (string, error) {
	if value != "-" {
		return value, nil
	}
	data, err := io.ReadAll(io.LimitReader(a.In, maxText+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	if len(data) > maxText {
		return "", fmt.Errorf("%w: stdin: the %s is longer than %d MiB", config.ErrInvalid, what, maxText>>20)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// maxText is the maximum length of a text on stdin. A text of this length fits into a record of
// the store.
const maxText = 8 << 20

// moment formats a time to the second. The zero time is empty.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// streamListing shows conversations, or runs.
func streamListing(name, count string, list []anchor.Stream) cli.Listing {
	l := cli.Listing{Header: []string{name, count, "NEWEST"}, Data: list}
	for _, s := range list {
		l.Rows = append(l.Rows, []string{cli.OneCell(s.ID), strconv.FormatInt(s.Newest, 10), moment(s.Time)})
	}
	return l
}
