// Package secrets finds keys, tokens and passwords in texts, so that they are neither learned nor stored.
//
// It knows the form of the tokens of common services, and values that are given to names such as password. The rules
// are few on purpose: those of scanners for repositories find more, but what they draw in is larger than this program's
// agents, and an alarm costs a user the note.
package secrets

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// rule is what a secret looks like, and what it is called in messages.
type rule struct {
	name string
	// keys are texts of which a text with such a secret has one, in lower case. They are looked for first, because
	// that is much faster.
	keys []string
	re   func() *regexp.Regexp
	// judge says how the group of the expression is judged, which may be an example. Without it all is the secret.
	judge judgement
}

// judgement says where a value stands that may be a secret.
type judgement int

const (
	certain judgement = iota // the form says that it is one
	code                     // after a name: it may be a word or a name in code
	prose                    // in a sentence: it may be a word
	address                  // before the host: only an example is none
)

// lazily compiles an expression at its first use: the start of every command would pay for all of them.
func lazily(re string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })
}

func token(name, re string, keys ...string) rule {
	return rule{name: name, keys: keys, re: lazily(re)}
}

// names are what values are called that nobody should see.
const names = `(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|client[_-]?secret|auth[_-]?token|credentials?)`

var rules = []rule{
	token("a private key", `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]*)`, "private key"),
	token("a key of AWS", `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`, "akia", "asia", "abia", "acca"),
	token("a token of GitHub", `\b(?:gh[pousr]_[0-9A-Za-z]{36,255}|github_pat_\w{60,255})`, "gh", "github_pat_"),
	token("a token of GitLab", `\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w-]{20,}`, "gl"),
	token("a token of Slack", `\bxox[abeoprs]-[\w-]{10,}|\bxapp-\d-[\w-]{20,}|hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+]{30,}`, "xox", "xapp-", "hooks.slack"),
	token("a key of Google", `\bAIza[\w-]{35}|\bGOCSPX-[\w-]{28}|\bya29\.[\w-]{30,}`, "aiza", "gocspx", "ya29."),
	token("a key of Stripe", `\b(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{16,}|\bwhsec_[0-9A-Za-z+/=]{24,}`, "_live_", "_test_", "whsec_"),
	token("a key of a model's API", `\bsk-(?:ant-[a-z0-9]+-|proj-|svcacct-|or-v1-)?[\w-]{32,}|\bgsk_[0-9A-Za-z]{40,}|\bxai-[0-9A-Za-z]{40,}|\br8_[0-9A-Za-z]{30,}`, "sk-", "gsk_", "xai-", "r8_"),
	token("a token of Hugging Face", `\b(?:hf|api_org)_[A-Za-z]{30,}`, "hf_", "api_org_"),
	token("a token of a package registry", `\bnpm_[0-9A-Za-z]{36}|\bpypi-[\w-]{50,}|\brubygems_[0-9a-f]{48}|\bdckr_pat_[\w-]{20,}|\bcio[0-9A-Za-z]{32}\b`, "npm_", "pypi-", "rubygems_", "dckr_pat_", "cio"),
	token("a token of a cloud service", `\bdo[opr]_v1_[0-9a-f]{64}|\bhv[sb]\.[\w-]{20,}|\bdapi[0-9a-f]{32}|\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|\blin_api_[0-9A-Za-z]{30,}|\bATATT3[\w=-]{20,}|\bsq0[a-z]{3}-[\w-]{22,}|\bPMAK-[0-9a-f-]{50,}|\bsntry[su]_[\w+/=]{40,}|\bglsa_[0-9A-Za-z_]{32,}|\bntn_[0-9A-Za-z]{40,}`,
		"_v1_", "hvs.", "hvb.", "dapi", "shp", "lin_api_", "atatt3", "sq0", "pmak-", "sntry", "glsa_", "ntn_"),
	token("a key of a mail service", `\bSG\.[\w-]{22}\.[\w-]{43}|\bkey-[0-9a-f]{32}\b|\bSK[0-9a-f]{32}\b|\bxkeysib-[0-9a-f]{64}`, "sg.", "key-", "sk", "xkeysib-"),
	token("a token of a bot", `\b\d{8,10}:AA[\w-]{33}|\b[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,}`, ":aa", "."),
	token("a key of Azure", `\b(?:AccountKey|SharedAccessKey)=[0-9A-Za-z+/]{40,88}={0,2}`, "accesskey=", "accountkey="),
	token("a key of this service", `\bah_\w{1,64}_[0-9A-Za-z]{20,}`, "ah_"),
	token("a key of age", `\bAGE-SECRET-KEY-1[0-9A-Z]{58}`, "age-secret-key"),
	token("a signed token", `\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}`, "eyj"),
	{name: "a password in an address", keys: []string{"://"}, judge: address, re: lazily(`\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@"'<>]{0,64}:([^\s:/@"'<>]{3,128})@`)},
	{name: "a header with a token", keys: []string{"bearer", "basic"}, judge: code, re: lazily(`(?i)\b(?:bearer|basic)\s+([\w+/.~-]{16,}={0,2})`)},
	{name: "a secret value", keys: []string{"pass", "pwd", "secret", "token", "key", "credential"}, judge: code, re: lazily(`(?i)\b[\w.-]{0,40}?` + names + `["']?\s{0,3}(?::=|=>|[:=])\s{0,3}["'` + "`" + `]?([^\s"'` + "`" + `,;<>(){}]{6,256})`)},
	{name: "a password", keys: []string{"pass", "pwd", "secret", "token", "key", "pin"}, judge: prose, re: lazily(`(?i)\b(?:password|passwd|passphrase|pwd|secret|token|api[ _-]?key|access key|pin)(?: (?:for|of|to|on)(?: [\w.@-]{1,40}){1,5}?)?\s*(?:\s(?:is|was|are)(?: now)?|:)\s+["'` + "`" + `]?([^\s"'` + "`" + `,;()]{4,128})`)},
}

// Find says what secret a text has, as a noun for messages without any part of it. Empty means none.
func Find(text string) string {
	name := ""
	each(text, func(r *rule, _, _ int) bool {
		name = r.name
		return false
	})
	return name
}

// Removed stands for a secret in a text.
const Removed = "[secret removed]"

// Redact returns a text in which each secret is replaced by [Removed].
func Redact(text string) string {
	type span struct{ from, to int }
	var spans []span
	each(text, func(_ *rule, from, to int) bool {
		spans = append(spans, span{from, to})
		return true
	})
	if len(spans) == 0 {
		return text
	}
	gone := make([]bool, len(text))
	for _, s := range spans {
		for i := s.from; i < s.to; i++ {
			gone[i] = true
		}
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if !gone[i] {
			b.WriteByte(text[i])
		} else if i == 0 || !gone[i-1] {
			b.WriteString(Removed)
		}
	}
	return b.String()
}

// each calls f with the place of each secret until f returns false.
func each(text string, f func(r *rule, from, to int) bool) {
	lower := strings.ToLower(text)
	for i := range rules {
		r := &rules[i]
		if !r.may(lower) {
			continue
		}
		for _, at := range r.re().FindAllStringSubmatchIndex(text, -1) {
			from, to := at[0], at[1]
			if r.judge != certain {
				if from, to = at[2], at[3]; !plausible(text[from:to], r.judge) {
					continue
				}
			}
			if !f(r, from, to) {
				return
			}
		}
	}
}

func (r *rule) may(lower string) bool {
	return slices.ContainsFunc(r.keys, func(key string) bool { return strings.Contains(lower, key) })
}

// examples are parts of values that stand for a secret and are none.
var examples = []string{"example", "changeme", "change_me", "placeholder", "your", "xxx", "***", "...", "…", "dummy", "redacted", "removed", "process.env", "environ", "getenv", "secrets.", "vault:", "${", "$(", "{{", "<", "%", "null", "none", "undefined", "true", "false", "required", "optional", "string"}

// plausible reports whether a value may be a secret: no example, no name in code and no common word. In prose it must
// have a digit or a sign besides letters.
func plausible(value string, where judgement) bool {
	value = strings.TrimRight(value, ".!?)]}")
	lower := strings.ToLower(value)
	if strings.HasPrefix(value, "$") { // a variable
		return false
	}
	for _, e := range examples {
		if strings.Contains(lower, e) {
			return false
		}
	}
	var letters, digits, signs, upper int
	for _, c := range value {
		switch {
		case unicode.IsDigit(c):
			digits++
		case unicode.IsUpper(c):
			upper++
			letters++
		case unicode.IsLetter(c):
			letters++
		default:
			signs++
		}
	}
	switch {
	case where == address:
		return true
	case where == prose:
		return len(value) >= 4 && (digits > 0 || signs > 0) && (letters > 0 || signs > 0 || digits >= 4) && !identifier(value)
	case digits > 0 && letters == 0 && signs == 0: // a number
		return len(value) >= 12
	case digits == 0 && identifier(value): // a name in code, a word or a path
		return upper > 4 && len(value) >= 20 && entropy(value) > 4
	}
	return entropy(value) >= 2.5
}

// identifier reports whether a value is made of words as names in code, paths and addresses are.
func identifier(value string) bool {
	return !strings.ContainsFunc(value, func(c rune) bool { return !unicode.IsLetter(c) && !strings.ContainsRune("_-./:*&[]\\|", c) })
}

// entropy is that of the characters of a value, in bits for each.
func entropy(value string) (bits float64) {
	count, n := map[rune]int{}, 0
	for _, c := range value {
		count[c]++
		n++
	}
	for _, k := range count {
		p := float64(k) / float64(n)
		bits -= p * math.Log2(p)
	}
	return bits
}
