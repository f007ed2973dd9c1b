package registrycmd

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openregistry"
	"github.com/anchor-host/anchor-host/internal/config"
)

// TestClientOptions joins flags and configuration.
func TestClientOptions(t *testing.T) {
	a, cmd := cli.New(t.Context(), strings.NewReader(""), io.Discard, io.Discard), &cobra.Command{Use: "x"}
	for _, mirror := range []string{"ghcr.io", "=mirror.example", "ghcr.io=", "ghcr.io=https://x"} {
		o := openregistry.Flags{Cache: t.TempDir(), Mirrors: []string{mirror}}
		if client, err := o.Client(cmd, openregistry.NewBar(a), config.Registries{}); err == nil {
			client.Close()
			t.Errorf("--mirror %s is accepted", mirror)
		}
	}
	for _, given := range []string{"0", "-1s"} {
		o, cmd := openregistry.Flags{Cache: t.TempDir()}, &cobra.Command{Use: "x"}
		o.Add(cmd)
		if err := cmd.Flags().Set("timeout", given); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Client(cmd, openregistry.NewBar(a), config.Registries{}); err == nil || !strings.Contains(err.Error(), "flag --timeout: want more than 0") {
			t.Errorf("--timeout %s: %v", given, err)
		}
	}
	o := openregistry.Flags{Cache: t.TempDir(), Mirrors: []string{"ghcr.io=first.example"}, PlainHTTP: []string{"one.example"}}
	r := config.Registries{Mirrors: map[string][]string{"ghcr.io": {"second.example"}}, PlainHTTP: []string{"two.example"}}
	client, err := o.Client(cmd, openregistry.NewBar(a), r)
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
	if len(r.Mirrors["ghcr.io"]) != 1 || len(r.PlainHTTP) != 1 {
		t.Errorf("the configuration changed: %+v", r)
	}
}
