package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// schema has schemathesis send requests that it makes of the OpenAPI document of a running service:
// valid and invalid ones, alone and in sequences. All its checks hold for each answer, for requests
// with a key, without one, and at a service without keys.
func schema(ctx context.Context, s *suite) error {
	if s.schemathesis == "" {
		return errors.New("name the program: -schemathesis PATH")
	}
	count := s.count
	if count == 0 {
		count = 100
	}
	for _, m := range []struct {
		name, more, tenant string
		key                bool
	}{
		{"with a key", "server: {keys: keys.yaml, drain_delay: none, watch: false}\n", "acme", true},
		{"without the key that is needed", "server: {keys: keys.yaml, drain_delay: none, watch: false}\n", "acme", false},
		{"at a service without keys", "server: {drain_delay: none, watch: false}\n", "", false},
	} {
		if err := s.describedAnswers(ctx, m.name, m.more, m.tenant, m.key, count); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// describedAnswers runs schemathesis against a service of its own, once for each listener.
func (s *suite) describedAnswers(ctx context.Context, name, more, tenant string, key bool, count int) error {
	var owners []string
	if tenant != "" {
		owners = []string{tenant}
	}
	st, err := newSite(ctx, s, more, owners...)
	defer st.remove()
	if err != nil {
		return err
	}
	if err := st.fill(ctx, tenant); err != nil {
		return err
	}
	v, err := st.start(ctx)
	if err != nil {
		return err
	}
	defer v.kill()
	config := filepath.Join(s.root, "tools", "load", "schemathesis.toml")
	for _, listener := range []struct{ name, url, only, paths string }{
		{"API", v.data, "--exclude-path-regex", "^/(admin|debug)/"},
		{"admin", v.admin, "--include-path-regex", "^/(admin/|readyz|livez)"},
	} {
		args := []string{
			"--config-file", config, "--no-color", "run", v.data + "/openapi.json", "--url", listener.url, listener.only, listener.paths,
			"--seed", strconv.FormatInt(s.seed, 10), "--generation-database", "none", "--max-examples", strconv.Itoa(count),
		}
		if s.short {
			args = append(args, "--no-shrink")
		}
		if key {
			args = append(args, "--header", "Authorization: Bearer "+st.keys[tenant])
		}
		begin := time.Now()
		cmd := exec.CommandContext(ctx, s.schemathesis, args...)
		cmd.Dir = st.dir
		cmd.Env = append(os.Environ(), "PYTHONUTF8=1")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return err
		}
		if err != nil {
			fmt.Fprintf(s.out, "%s\n", out)
		}
		s.row(listener.name+" "+name, passed(err), "no failure", err == nil, "%d examples for each operation, seed %d, %.0f s", count, s.seed, time.Since(begin).Seconds())
		select {
		case <-v.exited:
			return fmt.Errorf("the service ended: %s", v.logged())
		default:
		}
	}
	return v.stop()
}

func passed(err error) string {
	if err != nil {
		return "failures"
	}
	return "clean"
}

// fill puts a document into a collection, so that there is one to search.
func (st *site) fill(ctx context.Context, tenant string) error {
	path := filepath.Join(st.dir, "book.md")
	if err := os.WriteFile(path, []byte("# Trains\n\nThe night train leaves at nine.\n"), 0o644); err != nil {
		return err
	}
	args := []string{"ingest", path, "--collection", "books"}
	if tenant != "" {
		args = append(args, "--tenant", tenant)
	}
	_, err := st.command(ctx, args...)
	return err
}
