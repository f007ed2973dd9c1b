// Package keyscmd implements "anchor-host keys": the API keys of serve.
package keyscmd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/server/keys"
	"github.com/anchor-host/anchor-host/server/quota"
)

// Command returns "keys".
func Command(a *cli.App) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "keys",
		Short: "Make, list, replace and revoke the API keys of serve",
		Long: `Manage the file of API keys that server.keys in anchor.yaml names. A key belongs to
a tenant and has scopes: build, memory:read, memory:write, collections,
collections:write, admin and content. A client sends it as "Authorization: Bearer KEY"
or as "x-api-key: KEY".

The file has the SHA-256 of each secret, so a key is shown once: when it is made. serve
notices a change of the file within two seconds. What each scope allows, and the limits
of tenants, which are in the same file, are in docs/operate-keys.md.
With server.follow the keys are in the store, for all hosts, and begin as those of the file.`,
		Example: `  anchor-host keys add --tenant acme --scopes build,memory:read --expires 90d
  anchor-host keys list
  anchor-host keys rotate k3Yx8QmWz0Ab --overlap 1h
  anchor-host keys revoke k3Yx8QmWz0Ab`,
	})
	cmd.AddCommand(add(a), list(a), rotate(a), revoke(a))
	return cmd
}

// command completes a command on the file of the keys: with --file, or the one of the configuration.
func command(a *cli.App, cmd *cobra.Command, work func(cmd *cobra.Command, file string, args []string) (cli.Listing, error), formats ...string) *cobra.Command {
	cli.ConfigFlag(cmd)
	name := cmd.Flags().String("file", "", "file of the keys, YAML or .json (default: server.keys)")
	return a.Command(cmd, func(cmd *cobra.Command, args []string) (l cli.Listing, err error) {
		file := *name
		if file == "" {
			loaded, err := a.Load(cmd)
			if err != nil {
				return l, err
			}
			if loaded.Server.Follow {
				return shared(loaded, func(file string) (cli.Listing, error) { return work(cmd, file, args) }, cmd)
			}
			if loaded.Server.Keys == "" {
				return l, cli.Usagef(cmd, "no file of keys (set server.keys in anchor.yaml, or name one with --file)")
			}
			file = loaded.Path(loaded.Server.Keys)
		}
		return work(cmd, file, args)
	}, formats...)
}

// made is a new key as it is printed.
type made struct {
	// Secret is the whole key, which nobody can find out later.
	Secret string `json:"key"`
	shown
}

// shown is a key as it is printed: without its digest.
type shown struct {
	State string `json:"state"`
	keys.Key
}

func view(k keys.Key) shown {
	k.SHA256 = ""
	return shown{k.State(time.Now()), k}
}

// listMade prints a new key.
func listMade(a *cli.App, cmd *cobra.Command, token keys.Token, k keys.Key) cli.Listing {
	if cli.Format(cmd) == "text" {
		a.Say("key %s of tenant %s: this is the only time that it is shown", k.ID, k.Tenant)
	}
	return cli.Listing{Data: made{token.String(), view(k)}, Text: token.String() + "\n"}
}

func add(a *cli.App) *cobra.Command {
	var tenant, expires, note string
	var scopes, quotas []string
	cmd := &cobra.Command{
		Use:   "add --tenant NAME --scopes LIST [flags]",
		Short: "Make a key",
		Long: `Make a key and print it. It is shown only now: the file has its SHA-256. The file is
made if there is none.

--quota limits this key alone, in addition to the limits of its tenant. The names are
those of the file, such as requests_per_second, concurrent_builds, tokens_per_minute and
usd_per_day: what models may cost from midnight to midnight in UTC.`,
		Example: `  anchor-host keys add --tenant acme --scopes build,memory:read --note "the web site"
  anchor-host keys add --tenant acme --scopes build --expires 90d --quota usd_per_day=2.50
  KEY=$(anchor-host keys add --tenant acme --scopes build)`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&tenant, "tenant", "", "tenant that owns what requests with this key read and write")
	cli.SettingFlag(cmd, "tenant", "")
	flags.StringSliceVar(&scopes, "scopes", nil, "what the key allows: "+strings.Join(keys.Scopes, ", "))
	flags.StringVar(&expires, "expires", "", "when the key ends: a time span such as 90d or 12h, or a time such as 2027-01-31T00:00:00Z (default: never)")
	flags.StringVar(&note, "note", "", "holder and purpose of the key")
	flags.StringArrayVar(&quotas, "quota", nil, "a limit of this key, such as requests_per_second=5; repeat it for more")
	return command(a, cmd, func(cmd *cobra.Command, file string, _ []string) (l cli.Listing, err error) {
		if tenant == "" || len(scopes) == 0 {
			return l, cli.Usagef(cmd, "a key needs a tenant and scopes (--tenant NAME --scopes LIST)")
		}
		if err := keys.CheckScopes(scopes); err != nil {
			return l, cli.Usagef(cmd, "flag --scopes: %v", err)
		}
		now, token := time.Now().UTC().Truncate(time.Second), keys.NewToken()
		k := keys.Key{ID: token.ID, SHA256: token.Digest(), Tenant: tenant, Scopes: scopes, Created: now, Note: note}
		if k.Expires, err = moment(expires, now); err != nil {
			return l, cli.Usagef(cmd, "flag --expires: %v", err)
		}
		if k.Quotas, err = limits(quotas); err != nil {
			return l, cli.Usagef(cmd, "flag --quota: %v", err)
		}
		err = keys.Edit(cmd.Context(), file, func(f *keys.File) error {
			f.Keys = append(f.Keys, k)
			return nil
		})
		if err != nil {
			return l, err
		}
		return listMade(a, cmd, token, k), nil
	}, "text", "json", "yaml")
}

func list(a *cli.App) *cobra.Command {
	var tenant string
	cmd := &cobra.Command{
		Use:   "list [flags] [ID]...",
		Short: "List the keys, without their secrets",
		Long: `List all keys, or those with these ids, with their tenants, scopes, quotas, times and
notes. STATE says whether a key is accepted now: active, expired or revoked. Neither the
secret of a key nor the digest of it is shown. The id is the middle part of a key.`,
		Example: `  anchor-host keys list
  anchor-host keys list --tenant acme -o json
  anchor-host keys list k3Yx8QmWz0Ab`,
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "only keys of this tenant")
	cli.SettingFlag(cmd, "tenant", "")
	return command(a, cmd, func(_ *cobra.Command, file string, ids []string) (l cli.Listing, err error) {
		f, err := keys.Read(file)
		if err != nil {
			return l, err
		}
		for _, id := range ids {
			if f.Find(id) < 0 {
				return l, unknown(id)
			}
		}
		data := []shown{}
		for _, k := range f.Keys {
			if (tenant == "" || k.Tenant == tenant) && (len(ids) == 0 || slices.Contains(ids, k.ID)) {
				data = append(data, view(k))
			}
		}
		return listing(data), nil
	})
}

func listing(rows []shown) cli.Listing {
	l := cli.Listing{Header: []string{"ID", "TENANT", "STATE", "SCOPES", "QUOTAS", "CREATED", "EXPIRES", "NOTE"}, Data: rows}
	for _, k := range rows {
		l.Rows = append(l.Rows, []string{k.ID, cli.OneCell(k.Tenant), k.State, strings.Join(k.Scopes, ","), quotasCell(&k.Quotas), records.Time(k.Created), records.Time(k.Expires), cli.Dash(cli.Excerpt(k.Note))})
	}
	return l
}

// quotasCell are the limits of a key, in the form of keys add --quota.
func quotasCell(l *quota.Limits) string {
	text, err := json.Marshal(l)
	if err != nil || string(text) == "{}" {
		return "-"
	}
	return strings.NewReplacer("{", "", "}", "", `"`, "", ":", "=").Replace(string(text))
}

func unknown(id string) error {
	return fmt.Errorf("id %.60q: %w (see anchor-host keys list)", id, keys.ErrNotFound)
}

func revoke(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke [flags] ID...",
		Short: "Refuse keys from now on",
		Long: `Refuse keys from now on. They stay in the file, so that their ids in logs can be
explained. serve notices it within two seconds.`,
		Example: `  anchor-host keys revoke k3Yx8QmWz0Ab`,
		Args:    cobra.MinimumNArgs(1),
	}
	return command(a, cmd, func(cmd *cobra.Command, file string, args []string) (l cli.Listing, err error) {
		now := time.Now().UTC().Truncate(time.Second)
		err = change(cmd, file, args, func(f *keys.File, i int) {
			if f.Keys[i].Revoked.IsZero() || f.Keys[i].Revoked.After(now) {
				f.Keys[i].Revoked = now
			}
		})
		return cli.Listing{Text: "revoked: " + strings.Join(args, "\nrevoked: ") + "\n"}, err
	}, cli.NoFormat)
}

// change edits keys of a file that is there.
func change(cmd *cobra.Command, name string, ids []string, f func(*keys.File, int)) error {
	return keys.Edit(cmd.Context(), name, func(file *keys.File) error {
		for _, id := range ids {
			i := file.Find(id)
			if i < 0 {
				return unknown(id)
			}
			f(file, i)
		}
		return nil
	})
}

func rotate(a *cli.App) *cobra.Command {
	var overlap time.Duration
	cmd := &cobra.Command{
		Use:   "rotate [flags] ID",
		Short: "Replace a key by a new one",
		Long: `Make a key with the tenant, scopes, quotas, end and note of another one, and print
it. Both are accepted for the time of --overlap; then the old one expires. Revoke
a key that has leaked instead.`,
		Example: `  anchor-host keys rotate k3Yx8QmWz0Ab
  anchor-host keys rotate k3Yx8QmWz0Ab --overlap 1h -o json`,
		Args: cli.Exactly("ID"),
	}
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old key is still accepted")
	return command(a, cmd, func(cmd *cobra.Command, file string, args []string) (l cli.Listing, err error) {
		if overlap < 0 {
			return l, cli.Usagef(cmd, "flag --overlap: want a time span such as 1h, or 0s")
		}
		now, token := time.Now().UTC().Truncate(time.Second), keys.NewToken()
		var k keys.Key
		err = keys.Edit(cmd.Context(), file, func(f *keys.File) error {
			i := f.Find(args[0])
			if i < 0 {
				return unknown(args[0])
			}
			old := &f.Keys[i]
			if state := old.State(now); state != "active" {
				return fmt.Errorf("id %q: the key is %s (make a new key with anchor-host keys add)", old.ID, state)
			}
			k = *old
			k.ID, k.SHA256, k.Created = token.ID, token.Digest(), now
			if end := now.Add(overlap); old.Expires.IsZero() || end.Before(old.Expires) {
				old.Expires = end
			}
			f.Keys = append(f.Keys, k)
			return nil
		})
		if err != nil {
			return l, err
		}
		return listMade(a, cmd, token, k), nil
	}, "text", "json", "yaml")
}
