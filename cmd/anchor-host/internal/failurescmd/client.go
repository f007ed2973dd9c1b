package failurescmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/internal/plain"
)

// Bounds of a request to a host. An answer holds at most what a host keeps, escaped.
const (
	answerTime = 10 * time.Second
	maxAnswer  = 4 * failures.MaxBytes
)

// client asks a host.
type client struct {
	base, key string
	http      http.Client
}

// client makes the client for the host of the flags.
func (f *flags) client(a *cli.App, cmd *cobra.Command) (*client, error) {
	c := &client{base: f.url, http: http.Client{Timeout: answerTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if c.base == "" {
		loaded, err := a.Load(cmd)
		if err != nil {
			return nil, err
		}
		s := loaded.Server.WithDefaults()
		c.base = "http://" + s.Listen
		if s.TLS.Cert != "" {
			c.base = "https://" + s.Listen
		}
	}
	u, err := url.Parse(c.base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, cli.Usagef(cmd, "flag --url: want http://HOST:PORT or https://HOST, got %.200q", c.base)
	}
	c.base = strings.TrimSuffix(c.base, "/")
	t, err := config.ParseText("flag --key", f.key)
	if err == nil {
		c.key, _, err = t.Resolve(func(path string) string { return path })
	}
	if c.key = strings.TrimSpace(c.key); err != nil {
		return nil, cli.Usagef(cmd, "flag --key: %w", err)
	}
	return c, nil
}

// list asks for the failures of a plugin, or of all.
func (c *client) list(ctx context.Context, plugin string) (*failures.List, error) {
	path := "/v1/plugins/failures"
	if plugin != "" {
		path = "/v1/plugins/" + url.PathEscape(plugin) + "/failures"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, fmt.Errorf("plugin failures: %w", err)
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fmt.Errorf(`plugin failures: no host answers at %s: %w (name another with --url; only a host that runs "serve" keeps failures, and a single "build" prints its own to stderr)`, c.base, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("plugin failures: read the answer of %s: %w", c.base, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, refusal(c.base, answer.StatusCode, body)
	}
	var list failures.List
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("plugin failures: the answer of %s has more than %d bytes", c.base, maxAnswer)
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("plugin failures: %s answers with no list of failures: %w", c.base, err)
	}
	return &list, nil
}

// refusal is why a host gives no list.
func refusal(base string, status int, body []byte) error {
	var doc failure.Document
	if json.Unmarshal(body, &doc) != nil || doc.Error.Message == "" {
		return fmt.Errorf("plugin failures: %s answers with status %d (is it an anchor-host of this version?)", base, status)
	}
	text := plain.Line(doc.Error.Message)
	if doc.Error.Remedy != "" {
		text += " (" + plain.Line(doc.Error.Remedy) + ")"
	}
	if status == http.StatusUnauthorized {
		text += " (give a key with --key)"
	}
	return fmt.Errorf("plugin failures: %s refuses: %s", base, text)
}
