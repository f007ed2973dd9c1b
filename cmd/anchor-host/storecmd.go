package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// storeFlags add the flags of every command that opens the store.
func storeFlags(cmd *cobra.Command) {
	cli.StoreFileFlag(cmd)
	cmd.Flags().String("tenant", "", "whose memory it is")
}

// sessionFunc is the work of a command that needs the store.
type sessionFunc func(cmd *cobra.Command, args []string, s *session) error

// withStore wraps the work of a command that writes to the store, and closes it.
func (a *app) withStore(f sessionFunc) func(*cobra.Command, []string) error {
	return a.withStoreOf(agentstore.Open, f)
}

// withStoreToRead does the same for a command that only reads: it also works where the
// store cannot be written.
func (a *app) withStoreToRead(f sessionFunc) func(*cobra.Command, []string) error {
	return a.withStoreOf(agentstore.OpenToRead, f)
}

// withStoreToDelete does the same for a command that makes room: on a full disk it goes on
// with what the store holds ready for that.
func (a *app) withStoreToDelete(f sessionFunc) func(*cobra.Command, []string) error {
	return a.Run(func(cmd *cobra.Command, args []string) error {
		err := a.useStore(agentstore.Open, f, cmd, args)
		if !errors.Is(err, store.ErrFull) {
			return err
		}
		again := a.useStore(agentstore.OpenToDelete, f, cmd, args)
		if errors.Is(again, errNoReserve) {
			return err
		}
		return again
	})
}

// errNoReserve marks a store that holds nothing ready for a full disk.
var errNoReserve = errors.New("no reserve")

// openFunc opens the store of a command.
type openFunc func(ctx context.Context, path, synchronous string) (store.Store, error)

func (a *app) withStoreOf(open openFunc, f sessionFunc) func(*cobra.Command, []string) error {
	return a.Run(func(cmd *cobra.Command, args []string) error { return a.useStore(open, f, cmd, args) })
}

// useStore opens the store for a command, and closes it.
func (a *app) useStore(open openFunc, f sessionFunc, cmd *cobra.Command, args []string) (err error) {
	if err := checkSelectors(cmd); err != nil {
		return err
	}
	loaded, err := a.Load(cmd)
	if err != nil {
		return err
	}
	s, err := open(cmd.Context(), loaded.StorePath(), loaded.Store.Synchronous)
	if err != nil {
		return err
	}
	if s == nil {
		return errNoReserve
	}
	defer func() {
		if closed := s.Close(); err == nil && closed != nil {
			err = fmt.Errorf("close store: %w", closed)
		}
	}()
	return f(cmd, args, &session{app: a, config: loaded, store: s, tenant: loaded.TenantName()})
}

// selectors are the flags that say what a command works on. One that is given but
// empty, as from a variable that is not set, would select everything.
var selectors = []string{"conversation", "user", "session", "type", "tag", "run", "id"}

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
	app    *app
	config *config.Loaded
	store  store.Store
	tenant string
}

// run returns an agent run of the tenant.
func (s *session) run(id string) *agentstore.Run {
	return &agentstore.Run{Store: s.store, Tenant: s.tenant, ID: id}
}

// tokenizerOf returns the tokenizer of a configuration for what is not sent to a
// model: one that is a plugin is replaced by the default.
func tokenizerOf(c *config.Config) (pipeline.Tokenizer, error) {
	name := c.Tokenizer.Name
	if name == "" {
		name = pipeline.DefaultEncoding
	}
	t, err := pipeline.EncodingTokenizer(name)
	if err != nil {
		return nil, fmt.Errorf("%w: tokenizer: %w", config.ErrInvalid, err)
	}
	return t, nil
}

// text returns a value of the command line, or with "-" what comes on stdin.
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

// maxText bounds a text on stdin: what fits into a record of the store.
const maxText = 8 << 20

// moment shows a time to the second, nothing for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// stream is one conversation or run of a listing.
type stream struct {
	ID string `json:"id"`
	// Newest is the number of the newest record; fewer may be left.
	Newest int64     `json:"newest"`
	Time   time.Time `json:"time"`
}

// streams lists the streams of one kind.
func (s *session) streams(ctx context.Context, kind, name, count string) (cli.Listing, error) {
	keys, err := s.store.Keys(ctx, s.tenant, kind)
	if err != nil {
		return cli.Listing{}, err
	}
	l, list := cli.Listing{Header: []string{name, count, "NEWEST"}}, []stream{}
	for _, key := range keys {
		last, err := s.store.Last(ctx, key, 1)
		if err != nil {
			return cli.Listing{}, err
		}
		for _, rec := range last {
			list = append(list, stream{key.Stream, rec.Seq, rec.Time})
			l.Rows = append(l.Rows, []string{cli.OneCell(key.Stream), strconv.FormatInt(rec.Seq, 10), moment(rec.Time)})
		}
	}
	l.Data = list
	return l, nil
}
