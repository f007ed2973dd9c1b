package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/server/keys"
)

func TestLifeOfAKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	secret := strings.TrimSpace(must(t, "", "keys", "add", "--file", file, "--tenant", "acme", "--scopes", "build,memory:read", "--expires", "90d", "--note", "web",
		"--quota", "requests_per_second=0.5", "--quota", "memory_bytes=1MiB", "--quota", "tokens_per_minute=1000"))
	token, ok := keys.ParseToken(secret)
	if !ok {
		t.Fatalf("%q is no key", secret)
	}
	list := decode[[]map[string]any](t, must(t, "", "keys", "list", "--file", file, "-o", "json"))
	if len(list) != 1 || list[0]["id"] != token.ID || list[0]["state"] != "active" || list[0]["tenant"] != "acme" || list[0]["sha256"] != nil {
		t.Errorf("%v", list)
	}
	f, err := keys.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	k := f.Keys[0]
	if k.SHA256 != token.Digest() || k.Quotas.RequestsPerSecond != 0.5 || k.Quotas.MemoryBytes != 1<<20 || k.Quotas.TokensPerMinute != 1000 || k.Expires.Sub(k.Created) != 90*24*time.Hour {
		t.Errorf("%+v", k)
	}
	if table := must(t, "", "keys", "list", "--file", file); !strings.Contains(table, "requests_per_second=0.5,tokens_per_minute=1000,memory_bytes=1MiB") {
		t.Error(table)
	}
	help := must(t, "", "keys", "--help")
	for _, scope := range keys.Scopes {
		if !strings.Contains(help, scope) {
			t.Errorf("the help has no scope %s", scope)
		}
	}
	second := decode[struct{ Key, ID, Note string }](t, must(t, "", "keys", "rotate", "--file", file, token.ID, "--overlap", "1h", "-o", "json"))
	if f, err = keys.Read(file); err != nil {
		t.Fatal(err)
	}
	if again, ok := keys.ParseToken(second.Key); !ok || again.ID != second.ID || again.Digest() != f.Keys[1].SHA256 || f.Keys[1].Quotas != k.Quotas || second.Note != "web" {
		t.Errorf("%+v, %+v", second, f.Keys[1])
	}
	if left := time.Until(f.Keys[0].Expires); left > time.Hour || left < 50*time.Minute {
		t.Errorf("the old key is accepted for %v", left)
	}
	must(t, "", "keys", "revoke", "--file", file, token.ID, second.ID)
	if table := must(t, "", "keys", "list", "--file", file, "--tenant", "acme"); strings.Count(table, "revoked") != 2 || strings.Contains(table, "active") {
		t.Error(table)
	}
	if all := must(t, "", "keys", "list", "--file", file, token.ID) + must(t, "", "keys", "list", "--file", file, "-o", "yaml"); strings.Contains(all, token.Secret) || strings.Contains(all, token.Digest()) {
		t.Error("the secret or its digest is shown")
	}
}

func TestMistakesWithKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	id := strings.Split(must(t, "", "keys", "add", "--file", file, "--tenant", "a", "--scopes", "build"), "_")[1]
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"add", "--file", file, "--tenant", "a"}, codeUsage, "--scopes"},
		{[]string{"add", "--file", file, "--tenant", "a", "--scopes", "bild"}, codeUsage, "did you mean"},
		{[]string{"add", "--file", file, "--tenant", "a", "--scopes", "build", "--expires", "soon"}, codeUsage, "90d"},
		{[]string{"add", "--file", file, "--tenant", "a", "--scopes", "build", "--expires", "2020-01-01T00:00:00Z"}, codeUsage, "future"},
		{[]string{"add", "--file", file, "--tenant", "a", "--scopes", "build", "--expires", "0d"}, codeUsage, "future"},
		{[]string{"add", "--file", file, "--tenant", "a", "--scopes", "build", "--quota", "request=1"}, codeUsage, "requests_per_second"},
		{[]string{"add", "--file", file, "--tenant", "a", "--scopes", "build", "--quota", "tokens_per_minute=many"}, codeUsage, "whole number"},
		{[]string{"add", "--file", file, "--tenant", "a\nb", "--scopes", "build"}, codeInvalid, "tenant"},
		{[]string{"list", "--file", file, "nope"}, codeNotFound, "no such key"},
		{[]string{"revoke", "--file", file, id, "nope"}, codeNotFound, "no such key"},
		{[]string{"list", "--file", file + ".none"}, codeNotFound, "no such file"},
	} {
		code, _, stderr := run(t, "", append([]string{"keys"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: %d %s, want %d and %q", c.args, code, stderr, c.code, c.want)
		}
	}
	if table := must(t, "", "keys", "list", "--file", file); !strings.Contains(table, "active") || strings.Count(table, "\n") != 2 {
		t.Errorf("mistakes changed the file:\n%s", table)
	}
}
