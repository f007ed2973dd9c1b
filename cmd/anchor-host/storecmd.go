package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openstore"
	"github.com/anchor-host/anchor-host/internal/config"
)

// storeFlags add the flags of every command that opens the store.
func storeFlags(cmd *cobra.Command) {
	openstore.Flags(cmd, "the stored data")
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
		return openstore.Delete(a.App, cmd, a.work(f, cmd, args))
	})
}

func (a *app) withStoreFor(access anchor.Access, f sessionFunc) func(*cobra.Command, []string) error {
	return a.Run(func(cmd *cobra.Command, args []string) error {
		return openstore.Do(a.App, cmd, access, a.work(f, cmd, args))
	})
}

func (a *app) work(f sessionFunc, cmd *cobra.Command, args []string) openstore.Work {
	return func(front *anchor.App) error {
		return f(cmd, args, &session{app: a, front: front, tenant: front.Status().Tenant})
	}
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
