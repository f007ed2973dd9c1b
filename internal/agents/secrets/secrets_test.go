package secrets

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		"key AKIA" + strings.Repeat("Q", 16) + " works":                           "a key of AWS",
		"postgres://app:hunter2x@db/shop":                                         "a password in an address",
		"The password for the staging server is Maple4711":                        "a password",
		"DB_PASSWORD=aB3$xyz99":                                                   "a secret value",
		"The password is hashed with bcrypt.":                                     "",
		"password = os.environ['DB']":                                             "",
		"token := next(tokens)":                                                   "",
		"PASSWORD=$DB_PASSWORD":                                                   "",
		"commit be7eed82113cb0ea0a4ef1ac0fb2e7a24cf0e6d1 broke the build of keys": "",
	} {
		if got := Find(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if got := Redact(text); (got != text) != (want != "") || want != "" && Find(got) != "" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := Redact("a postgres://app:hunter2x@db/shop b"); got != "a postgres://app:"+Removed+"@db/shop b" {
		t.Error(got)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- password: x1y2z3!!")
	f.Add("://:@ bearer = token: \xff")
	f.Fuzz(func(t *testing.T, text string) {
		if out := Redact(text); Find(text) == "" && out != text {
			t.Errorf("%q has no secret and becomes %q", text, out)
		}
	})
}

// Expressions are compiled at their first use, so a wrong one would show late.
func TestExpressionsCompile(t *testing.T) {
	for i := range rules {
		if r := &rules[i]; r.re().NumSubexp() > 1 || r.judge != certain && r.re().NumSubexp() != 1 {
			t.Errorf("%s: %d groups", r.name, r.re().NumSubexp())
		}
	}
}
