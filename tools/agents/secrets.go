package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/anchor-host/anchor-host/internal/agents/secrets"
)

// The targets of the detector: the share of made-up secrets that it finds, and of lines without one that alarm it.
const (
	hitTarget   = 0.95
	alarmTarget = 0.001
)

const (
	hexes  = "0123456789abcdef"
	letter = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	alnum  = letter + "0123456789"
	b32    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// made makes secrets in the form of those of a service, by its name.
func made(r *rand.Rand) map[string]string {
	of := func(set string, n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(set[r.IntN(len(set))])
		}
		return b.String()
	}
	word := []string{"Sunny", "falcon", "Tiger", "bridge", "Maple", "rocket"}[r.IntN(6)]
	b64 := func(n int) string { return base64.StdEncoding.EncodeToString([]byte(of(alnum, n))) }
	return map[string]string{
		"aws": "AKIA" + of(b32, 16), "aws secret": "aws_secret_access_key = " + of(alnum+"+/", 40), "github": "ghp_" + of(alnum, 36), "github fine": "github_pat_" + of(alnum, 22) + "_" + of(alnum, 59),
		"gitlab": "glpat-" + of(alnum, 20), "slack": "xoxb-" + of("0123456789", 12) + "-" + of(alnum, 24), "slack hook": "https://hooks.slack.com/services/T" + of(b32, 8) + "/B" + of(b32, 8) + "/" + of(alnum, 24),
		"google": "AIza" + of(alnum+"_-", 35), "google client": "GOCSPX-" + of(alnum+"_-", 28), "stripe": "sk_live_" + of(alnum, 24), "openai": "sk-proj-" + of(alnum, 48), "openai old": "sk-" + of(alnum, 48),
		"anthropic": "sk-ant-api03-" + of(alnum+"_-", 93) + "AA", "hugging face": "hf_" + of(letter, 34), "npm": "npm_" + of(alnum, 36), "pypi": "pypi-AgEIcHlwaS5vcmc" + of(alnum+"_-", 100),
		"sendgrid": "SG." + of(alnum+"_-", 22) + "." + of(alnum+"_-", 43), "twilio": "SK" + of(hexes, 32), "mailgun": "key-" + of(hexes, 32), "digitalocean": "dop_v1_" + of(hexes, 64), "vault": "hvs." + of(alnum, 24),
		"databricks": "dapi" + of(hexes, 32), "shopify": "shpat_" + of(hexes, 32), "telegram": of("123456789", 10) + ":AA" + of(alnum+"_-", 33), "azure": "AccountKey=" + b64(64), "docker": "dckr_pat_" + of(alnum, 27),
		"jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJ" + of(alnum, 40) + "." + of(alnum+"_-", 43),
		"pem": "-----BEGIN RSA PRIVATE KEY-----\n" + b64(120) + "\n-----END RSA PRIVATE KEY-----",
		"url": "postgres://app:" + of(alnum, 14) + "@db.internal:5432/shop", "bearer": "Authorization: Bearer " + of(alnum+"_-", 40), "env": "DB_PASSWORD=" + word + of("0123456789", 3) + "!", "yaml": `  api_key: "` + of(alnum, 32) + `"`,
		"json": `{"client_secret": "` + of(alnum+"_-", 36) + `"}`, "code": `const token = '` + of(hexes, 40) + `'`, "prose": "The password for the staging server is " + word + of("0123456789", 4), "prose key": "my api key is " + of(alnum, 28),
		"generic": "SESSION_SECRET=" + of(hexes, 64), "dsn": "mysql://root:" + word + "_" + of(alnum, 6) + "@127.0.0.1/app",
	}
}

// near are lines that look like secrets and are none.
var near = []string{
	"Set the password in the environment variable DB_PASSWORD.", "api_key: ${API_KEY}", "password = os.environ['DB_PASSWORD']", `token: "<your token here>"`, "const apiKey = process.env.API_KEY", "PASSWORD=changeme",
	"The commit be7eed82113cb0ea0a4ef1ac0fb2e7a24cf0e6d1 broke the build.", "id: 7f9c24e5-3b1a-4d0e-9a2b-0d5c1f6b7a88", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "integrity: sha512-kAAAaBBBcCCC==",
	"the token is refreshed after an hour", "the key is stored in the keychain", "The password is hashed with bcrypt.", "func Token(key string) (secret Secret, err error)", "token = next(tokens)", "if password == nil {", "tokens: 2500", "max_tokens = 4096",
	"key: value", "primary_key: customer_id", "secret_name: production/db", "curl -H \"Authorization: Bearer $TOKEN\" https://api.example.com", "https://user@example.com/path", "redis://localhost:6379/0", "postgres://app:${PW}@db/shop",
	"AKIA is the prefix of keys of AWS.", "Use ghp_… tokens for the registry.", "sk-... is the form of the key", "The token count is 1234.", "passwordField := form.Field(\"password\")", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
	"The secret is to test early.", "The pin is soldered to ground.", "the api key is missing", "token: str | None = None", "password: string;", "secret_key_base: Rails.application.credentials", "-----BEGIN PUBLIC KEY-----", "key-value stores", "task-manager-with-a-very-long-name-indeed",
}

// detector counts hits among made-up secrets of each form, and alarms among lines that have none: those above, and all
// of the repositories.
func detector(_ context.Context, repos string, verbose bool) error {
	r := rand.New(rand.NewPCG(38, 6))
	hits, all := map[string]int{}, 0
	const rounds = 200
	missed, total := 0, 0
	for range rounds {
		for name, secret := range made(r) {
			total++
			text := "Note for later: " + secret
			if secrets.Find(text) != "" && secrets.Redact(text) != text {
				hits[name]++
				all++
			} else if missed++; verbose && missed < 40 {
				fmt.Println("missed", name, secret)
			}
		}
	}
	for name, n := range hits {
		if n < rounds {
			say(map[string]any{"secret": name, "hits": float64(n) / rounds})
		}
	}
	alarms := 0
	for _, line := range near {
		if what := secrets.Find(line); what != "" {
			alarms++
			fmt.Println("false alarm:", what, "in", line)
		}
	}
	lines, inRepos := 0, 0
	err := filepath.WalkDir(repos, func(path string, d fs.DirEntry, err error) error {
		if err != nil || repos == "" || !d.Type().IsRegular() || strings.HasSuffix(path, "gz") {
			return nil
		}
		data, err := os.ReadFile(path)
		for line := range strings.Lines(string(data)) {
			lines++
			if what := secrets.Find(line); what != "" {
				if inRepos++; verbose {
					fmt.Printf("alarm: %s in %s: %.160s\n", what, path, strings.TrimSpace(line))
				}
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	hit, rate := float64(all)/float64(total), float64(inRepos)/float64(max(lines, 1))
	say(map[string]any{"made": total, "hits": hit, "near": len(near), "near_alarms": alarms, "lines": lines, "line_alarms": inRepos, "line_rate": rate})
	if hit < hitTarget || alarms > 0 || rate > alarmTarget {
		return fmt.Errorf("the detector finds %.3f of the secrets (want %.2f), with %d alarms in %d lines like secrets (want none) and in %.5f of the lines of the repositories (want %.4f)", hit, hitTarget, alarms, len(near), rate, alarmTarget)
	}
	return nil
}
