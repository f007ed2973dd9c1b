package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/pgtest"
)

// Commands take the URL of a database wherever they take the file of a store, and never print its password.
func TestStoreInADatabase(t *testing.T) {
	pgtest.Skip(t)
	server, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	const secret = "pass-word"
	url := strings.Replace(server.Fresh(t), "anchor@", "anchor:"+secret+"@", 1)
	away := strings.Replace(url, "port=5432", "port=5433", 1)
	config := "store:\n  path: " + url + "\n  pool: 3\n  timeout: 20s\n  replica: " + url + "\n"
	t.Chdir(write(t, map[string]string{"anchor.yaml": config, "away.yaml": "store: {path: '" + away + "'}\n"}))
	file := filepath.Join(t.TempDir(), "copy.db")
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"memory add --id a the-night-train", codeOK, "the-night-train"},
		{"memory search train", codeOK, "the-night-train"},
		{"memory add --conversation c --role user hello", codeOK, ""},
		{"memory list --conversation c", codeOK, "hello"},
		{"store check", codeOK, "postgres://anchor@"},
		{"store copy " + url + " " + file + " -o json", codeOK, `"copied": 2`},
		{"memory list --store " + file, codeOK, "the-night-train"},
		{"store backup x.db", -1, "pg_dump"},
		{"store restore x.db", -1, "pg_restore"},
		{"doctor", -1, "schema 1"},
		{"config show --origin", codeOK, "store.pool"},
		{"config show -o json", codeOK, "postgres://anchor@"},
		{"config validate", codeOK, ""},
		{"memory list --config away.yaml", -1, "start PostgreSQL"},
		{"doctor --config away.yaml", -1, "start PostgreSQL"},
		{"memory list --store postgres://anchor:" + secret + "@host:x/anchor", -1, "postgres://"},
		{"store copy " + away + " " + file, -1, "start PostgreSQL"},
	} {
		code, stdout, stderr := run(t, "", strings.Fields(tt.args)...)
		if all := stdout + stderr; tt.code == codeOK && code != codeOK || tt.code != codeOK && code == codeOK && tt.says != "schema 1" || !strings.Contains(all, tt.says) || strings.Contains(all, secret) {
			t.Errorf("%s: code %d\n%s", tt.args, code, all)
		}
	}
}
