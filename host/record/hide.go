package record

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Hidden stands in place of a secret.
const Hidden = "***"

// minSecret is the length from which secrets are looked for, in bytes. A shorter text is found
// where it means something else.
const minSecret = 4

// hider replaces secrets, in the forms in which plugins send them.
type hider struct {
	replacer *strings.Replacer
	// encoded are the forms that depend on what is beside them.
	encoded []string
}

func newHider(secrets []string) hider {
	var h hider
	forms := map[string]bool{}
	for _, s := range secrets {
		if len(s) < minSecret || s == Hidden {
			continue
		}
		h.encoded = append(h.encoded, encodedForms(s)...)
		for _, f := range formsOf(s) {
			forms[f] = true
		}
	}
	for _, f := range h.encoded {
		forms[f] = true
	}
	list := slices.SortedFunc(maps.Keys(forms), func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, f := range list {
		pairs = append(pairs, f, Hidden)
	}
	h.replacer = strings.NewReplacer(pairs...)
	return h
}

// formsOf are the forms of a secret: as it is, and escaped for URLs and for JSON.
func formsOf(s string) []string {
	quoted, _ := json.Marshal(s) // a text
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted))
	return []string{s, url.QueryEscape(s), url.PathEscape(s), string(quoted[1 : len(quoted)-1]), plain[1 : len(plain)-1]}
}

// encodedForms are a secret in hex, and in base64 wherever it begins in a longer text.
func encodedForms(s string) []string {
	forms := []string{hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s)))}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			text := e.EncodeToString(append(make([]byte, shift), s...))
			from := []int{0, 2, 3}[shift]  // the characters before depend on what precedes s
			to := (shift + len(s)) * 8 / 6 // those after it on what follows
			if to-from >= minSecret {
				forms = append(forms, text[from:to])
			}
		}
	}
	return forms
}

func (h hider) text(s string) string { return h.replacer.Replace(s) }

// whole is text for a header or a body. It is hidden as a whole if a secret in it is encoded.
func (h hider) whole(s string) string {
	if slices.ContainsFunc(h.encoded, func(f string) bool { return strings.Contains(s, f) }) {
		return Hidden
	}
	return h.text(s)
}

func (h hider) body(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	return []byte(h.whole(string(b)))
}

func (h hider) headers(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[h.text(k)] = h.whole(v)
	}
	return out
}

func (h hider) bytes(b []byte) []byte {
	if b == nil {
		return nil
	}
	return []byte(h.replacer.Replace(string(b)))
}

func (h hider) texts(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[h.text(k)] = h.text(v)
	}
	return out
}

// call hides secrets in a call. The lists are replaced, not changed.
func (h hider) call(c *Call) {
	c.Init, c.Config, c.Err = h.bytes(c.Init), h.texts(c.Config), h.text(c.Err)
	c.Request, c.Answer = h.bytes(c.Request), h.bytes(c.Answer)
	c.HTTP, c.KV = slices.Clone(c.HTTP), slices.Clone(c.KV)
	c.Counts, c.Log, c.Services = slices.Clone(c.Counts), slices.Clone(c.Log), slices.Clone(c.Services)
	for i := range c.Services {
		s := &c.Services[i]
		s.Request, s.Answer = h.bytes(s.Request), h.bytes(s.Answer)
	}
	for i := range c.HTTP {
		r := &c.HTTP[i]
		r.URL, r.Headers, r.Body = h.text(r.URL), h.headers(r.Headers), h.body(r.Body)
		r.ResponseHeaders, r.ResponseBody = h.headers(r.ResponseHeaders), h.body(r.ResponseBody)
	}
	for i := range c.KV {
		c.KV[i].Key, c.KV[i].Value = h.text(c.KV[i].Key), h.bytes(c.KV[i].Value)
	}
	for i := range c.Counts {
		c.Counts[i].Text = h.text(c.Counts[i].Text)
	}
	for i := range c.Log {
		c.Log[i] = h.text(c.Log[i])
	}
}

// secretHeaders are headers whose values are secrets whatever they hold.
var secretHeaders = []string{"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key", "x-auth-token", "x-goog-api-key"}

// secretParameters are the parameters of URLs whose values are.
var secretParameters = []string{"access_token", "api_key", "apikey", "auth", "client_secret", "key", "password", "secret", "sig", "signature", "token"}

// shown are the texts of a call that are secrets by the place where they are sent: the values of
// some headers, whole and without a scheme such as Bearer, and of some parameters of URLs.
func (c *Call) shown() (texts []string) {
	for i := range c.HTTP {
		r := &c.HTTP[i]
		for _, headers := range []map[string]string{r.Headers, r.ResponseHeaders} {
			for name, value := range headers {
				if slices.Contains(secretHeaders, strings.ToLower(name)) {
					_, after, _ := strings.Cut(value, " ")
					texts = append(texts, value, after)
				}
			}
		}
		u, err := url.Parse(r.URL)
		if err != nil {
			continue
		}
		if password, has := u.User.Password(); has {
			texts = append(texts, password)
		}
		for name, values := range u.Query() {
			if slices.Contains(secretParameters, strings.ToLower(name)) {
				texts = append(texts, values...)
			}
		}
	}
	return texts
}
