package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secretSite is a folder with a plugin that reads a config value, and a configuration in which
// the value is a reference.
func secretSite(t *testing.T, reference string) string {
	t.Helper()
	manifest := "abi: 1\nname: asks\nversion: 0.1.0\noperations: {retrieve: {reads: []}}\n" +
		"permissions: [{kind: http, hosts: [api.test], reason: asks a server}]\n"
	dir := write(t, map[string]string{
		"plugins/asks/plugin.yaml": manifest,
		"anchor.yaml": fmt.Sprintf(`counting: {tokenizer: words}
plugins:
  instances:
    asks:
      plugin: asks
      config: {region: "%s"}
      grants:
        http:
          hosts: [api.test]
          headers: {api.test: {X-Key: "%[1]s"}}
steps: [{name: a, use: asks}]
`, reference),
	})
	module, err := os.ReadFile("../../testdata/wasm/add-item/plugin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugins/asks/plugin.wasm"), module, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// No command prints a secret, whatever it says about the configuration.
func TestSecretsAreNotPrinted(t *testing.T) {
	dir := secretSite(t, "${env:REACH_KEY}")
	t.Chdir(dir)
	t.Setenv("REACH_KEY", "sesame-open-1")
	for _, args := range [][]string{
		{"config", "show", "--origin"}, {"config", "show", "-o", "json"}, {"config", "validate"}, {"build", "q"}, {"build", "--explain", "q"},
		{"build", "--log-level", "debug", "q"}, {"plugin", "inspect", "plugins/asks"}, {"plugin", "list"}, {"doctor"},
	} {
		code, out, errors := run(t, "", args...)
		if strings.Contains(out+errors, "sesame") {
			t.Errorf("%v: %s%s", args, out, errors)
		}
		if args[0] != "doctor" && code != 0 {
			t.Errorf("%v: exit code %d: %s", args, code, errors)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), "sesame") {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A missing secret is a mistake in the configuration, with its place, before anything runs.
func TestMissingSecret(t *testing.T) {
	t.Chdir(secretSite(t, "${env:REACH_NONE}"))
	for _, args := range [][]string{{"config", "validate"}, {"build", "q"}} {
		code, _, errors := run(t, "", args...)
		if code != 3 || !strings.Contains(errors, "anchor.yaml:6:") || !strings.Contains(errors, "environment variable REACH_NONE is not set") {
			t.Errorf("%v: exit code %d: %s", args, code, errors)
		}
	}
	if code, out, errors := run(t, "", "config", "show"); code != 0 || !strings.Contains(out, "${env:REACH_NONE}") {
		t.Errorf("config show: exit code %d: %s%s", code, out, errors)
	}
}

// Commands show that a plugin leaves its hosts to the operator.
func TestHostsFromGrantAreShown(t *testing.T) {
	dir := secretSite(t, "x")
	manifest := "abi: 1\nname: asks\nversion: 0.1.0\noperations: {retrieve: {reads: []}}\n" +
		"permissions: [{kind: http, hosts: from_grant, reason: asks your server}]\n"
	if err := os.WriteFile(filepath.Join(dir, "plugins/asks/plugin.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"plugin", "inspect", "plugins/asks"}, "http from_grant (those of grants.http.hosts): asks your server"},
		{[]string{"plugin", "inspect", "plugins/asks", "-o", "json"}, `"hosts": "from_grant"`},
		{[]string{"config", "validate"}, `note: instance "asks": its plugin leaves the hosts to the grant (from_grant): api.test`},
	} {
		if code, out, errors := run(t, "", tc.args...); code != 0 || !strings.Contains(out+errors, tc.want) {
			t.Errorf("%v: exit code %d: %s%s\nlacks %s", tc.args, code, out, errors, tc.want)
		}
	}
	if err := os.WriteFile("anchor.yaml", []byte("plugins: {instances: {asks: {plugin: asks}}}\nsteps: [{name: a, use: asks}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, errors := run(t, "", "config", "validate"); !strings.Contains(errors, "asks for http to hosts of your choice and is not granted it: asks your server (choose them in grants.http.hosts)") {
		t.Errorf("config validate: %s", errors)
	}
}

// A missing key or header of a model or an embedder is named with its field by the commands that check
// a set-up, and no value is shown.
func TestMissingKeysOfServers(t *testing.T) {
	t.Setenv("REACH_KEY", "sesame-open-1")
	for field, text := range map[string]string{
		"models.m.key":                 `models: {m: {api: openai, model: x, key: "${env:REACH_KEY}${env:REACH_NONE}"}}`,
		"models.m.headers.api-key":     `models: {m: {api: openai, model: x, headers: {a: "${env:REACH_KEY}", api-key: "${env:REACH_NONE}"}}}`,
		"embedders.e.http.key":         `embedders: {e: {http: {base_url: "http://h", model: x, key: "${env:REACH_NONE}"}}}`,
		"embedders.e.http.headers.key": `embedders: {e: {http: {base_url: "http://h", model: x, headers: {key: "${env:REACH_NONE}"}}}}`,
	} {
		t.Chdir(write(t, map[string]string{"anchor.yaml": text}))
		for reference, want := range map[string]string{"env:REACH_NONE": "environment variable REACH_NONE is not set", "file:none": "none: no such file"} {
			if err := os.WriteFile("anchor.yaml", []byte(strings.ReplaceAll(text, "env:REACH_NONE", reference)), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"config", "validate"}, {"doctor", "-o", "json"}} {
				code, out, errors := run(t, "", args...)
				if code == 0 || !strings.Contains(out+errors, field+": ") || !strings.Contains(out+errors, want) || strings.Contains(out+errors, "sesame") {
					t.Errorf("%v: exit code %d: %s%s\nlacks %s: %s", args, code, out, errors, field, want)
				}
			}
		}
	}
}
