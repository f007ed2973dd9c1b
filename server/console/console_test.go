package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"math/bits"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is in every text of the store, and others in every id of another tenant.
const secret, others = "the-secret-text", "id-of-another-tenant"

// keyring knows keys, which are the names of its entries.
type keyring struct {
	mu   sync.Mutex
	keys map[string]server.Principal
}

func (k *keyring) Authenticate(r *http.Request) (server.Principal, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p, ok := k.keys[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]; ok {
		return p, nil
	}
	return server.Principal{}, errors.New("unknown key")
}

func (k *keyring) revoke(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.keys, key)
}

// site is a console with its service.
type site struct {
	*Console
	t    testing.TB
	app  *anchor.App
	keys *keyring
	h    http.Handler
	host string
	dir  string // of the configuration and the store
}

// newSite opens a console. Without keys it is open to this computer.
func newSite(t testing.TB, keys *keyring) *site {
	t.Helper()
	return newSiteOf(t, keys, "")
}

// newSiteOf opens a console of a service with more settings.
func newSiteOf(t testing.TB, keys *keyring, more string) *site {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "anchor.yaml")
	if err := os.WriteFile(path, []byte("counting: {tokenizer: words}\nwindow: {max_tokens: 200}\nbuilds: {records: {content: true}}\nmemory: {facts: {}}\nagent: {max_tokens: 1000}\n"+more), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(path, anchor.Options{CacheDir: "off", Overrides: map[string]string{"store.path": filepath.Join(dir, "store.db"), "store.synchronous": "normal"}})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{App: app, Totals: func() Totals { return Totals{} }, Flush: app.FlushRecords}
	so := server.Options{}
	if keys != nil {
		o.Authenticator, so.Authenticator = keys, keys
	}
	o.Rebuild = func(ctx context.Context, _ server.Principal, tenant string, r *builds.Record, id string) error {
		_, err := app.RepeatBuild(ctx, tenant, r, anchor.BuildOptions{ID: id})
		return err
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(app, so)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Routes() {
		if err := s.MountAdmin(r); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		c.Close()
		s.Close()
		if err := app.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &site{c, t, app, keys, s.AdminHandler(), "127.0.0.1:8791", dir}
}

// build builds and records a window of items with these ids.
func (s *site) build(tenant, id, conversation string, text string, items ...string) {
	s.t.Helper()
	var list []map[string]any
	for i, name := range items {
		list = append(list, map[string]any{"id": name, "content": strings.Repeat(text+" ", 1+i%7), "source": []string{"retrieval", "tool", "memory"}[i%3], "score": 0.5, "metadata": map[string]any{"note": text}})
	}
	doc, err := json.Marshal(map[string]any{"query": text, "items": list, "window": map[string]any{"max_tokens": 30}, "counting": map[string]any{"tokenizer": "words"}})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.app.BuildRequest(s.t.Context(), "request", strings.NewReader(string(doc)), anchor.BuildOptions{Tenant: tenant, ID: id, Conversation: conversation}); err != nil {
		s.t.Fatal(err)
	}
	if err := s.app.FlushRecords(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// fill makes something for every page, of two tenants.
func (s *site) fill() {
	s.t.Helper()
	for _, tenant := range []string{"acme", "other"} {
		id := "id-of-acme"
		if tenant == "other" {
			id = others
		}
		chat, err := s.app.Conversation(s.t.Context(), tenant, id+"-chat")
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := chat.Add(s.t.Context(), pipeline.Turn{Role: pipeline.RoleUser, Content: secret}); err != nil {
			s.t.Fatal(err)
		}
		items := make([]string, 12)
		for i := range items {
			items[i] = fmt.Sprint(id, "-item-", i)
		}
		s.app.Spend(tenant, id+"-key", []ledger.Line{{Model: "tiny", Amount: ledger.Amount{Calls: 3, InputTokens: 40}, CostUSD: 0.0123}})
		s.build(tenant, id+"-b1", id+"-chat", secret, items...)
		s.build(tenant, id+"-b2", id+"-chat", secret+" more", items[3:]...)
		facts, err := s.app.Facts(s.t.Context(), tenant)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, _, err := facts.Add(s.t.Context(), memory.Entry{ID: id + "-fact", Content: secret + tenant, Relevance: 0.5, Tags: []string{secret}, Metadata: map[string]any{"note": secret}, Links: []string{id + "-fact"}}); err != nil {
			s.t.Fatal(err)
		}
		run, err := s.app.Run(s.t.Context(), tenant, id+"-run")
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := run.Push(s.t.Context(), frames.Frame{Kind: frames.Kinds[0], Summary: secret, Data: json.RawMessage(`{"note":"` + secret + `"}`)}, agentrun.PushOptions{}); err != nil {
			s.t.Fatal(err)
		}
		if _, err := run.Push(s.t.Context(), frames.Frame{Kind: frames.Other(secret), Summary: secret}, agentrun.PushOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// user is a browser without scripts.
type user struct {
	*site
	cookie string
}

// send sends a request. form nil means GET.
func (u *user) send(path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	u.t.Helper()
	method, body := "GET", ""
	if form != nil {
		method, body = "POST", form.Encode()
	}
	r := httptest.NewRequest(method, "http://"+u.host+path, strings.NewReader(body))
	r.Host = u.host
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if u.cookie != "" {
		r.Header.Set("Cookie", cookieName+"="+u.cookie)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	u.h.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.Name == cookieName {
			u.cookie = c.Value
		}
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'self'") || strings.Contains(csp, "unsafe") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && w.Code >= 400 {
			return w // the server has refused the request before the console saw it
		}
		u.t.Errorf("%s %s: policy %q", method, path, csp)
	}
	return w
}

func (s *site) signIn(key string) *user {
	s.t.Helper()
	u := &user{site: s}
	if w := u.send("/console/sign-in", url.Values{"key": {key}}); w.Code != http.StatusSeeOther || u.cookie == "" {
		s.t.Fatalf("sign in with %s: status %d", key, w.Code)
	}
	return u
}

var token = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// csrf is the token in the forms of a page.
func (u *user) csrf(path string) string {
	u.t.Helper()
	m := token.FindStringSubmatch(u.send(path, nil).Body.String())
	if m == nil {
		u.t.Fatalf("%s has no form", path)
	}
	return m[1]
}

var links = regexp.MustCompile(`(?:href|src)="([^"]+)"`)

// crawl follows all links, and returns the pages by their addresses.
func (u *user) crawl(from ...string) map[string]string {
	u.t.Helper()
	pages := map[string]string{}
	for len(from) > 0 {
		path, _, _ := strings.Cut(from[0], "#")
		if from = from[1:]; path == "" {
			continue
		}
		if _, ok := pages[path]; ok {
			continue
		}
		if !strings.HasPrefix(path, "/console/") {
			u.t.Errorf("a link leads to %s", path)
			continue
		}
		w := u.send(path, nil)
		if w.Code != http.StatusOK {
			u.t.Errorf("%s: status %d", path, w.Code)
		}
		pages[path] = w.Body.String()
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			for _, m := range links.FindAllStringSubmatch(pages[path], -1) {
				from = append(from, html.UnescapeString(m[1]))
			}
			checkPage(u.t, path, pages[path])
		}
		if len(pages) > 500 {
			u.t.Fatal("there are too many pages")
		}
	}
	return pages
}

var (
	quoted   = regexp.MustCompile(`"[^"]*"`)
	inline   = regexp.MustCompile(`(?i)<script(?:>| [^>]*>[^<])|<style|<[^>]*\s(?:style|on[a-z]+)=|href=.?javascript:`)
	fragment = regexp.MustCompile(`href="[^"]*#([^"]+)"`)
)

// checkPage looks for what the policy forbids, and for links into the page that lead nowhere.
func checkPage(t testing.TB, path, page string) {
	t.Helper()
	if m := inline.FindString(quoted.ReplaceAllString(page, `""`)); m != "" {
		t.Errorf("%s has %q", path, m)
	}
	for _, m := range fragment.FindAllStringSubmatch(page, -1) {
		if strings.HasPrefix(m[0], `href="#`) && !strings.Contains(page, `id="`+m[1]+`"`) {
			t.Errorf("%s: %s leads nowhere", path, m[0])
		}
	}
}

var everything = []string{
	"/console/", "/console/builds", "/console/build?id=%s-b1", "/console/build?id=%s-b1&show=left", "/console/build?id=%s-b2&find=item-3", "/console/diff", "/console/diff?a=%s-b1&b=%s-b2",
	"/console/build/request?id=%s-b1", "/console/conversations", "/console/costs", "/console/conversation?id=%s-chat", "/console/memory", "/console/memory?expired=1&user=x&type=semantic", "/console/memory?tag=" + secret, "/console/fact?id=%s-fact",
	"/console/run?id=%s-run", "/console/plugins", "/console/rollout", "/console/keys", "/console/collections", "/console/builds?item=%s", "/console/builds?user=x&request_id=y&key=z", "/console/builds?text=" + secret, "/console/configuration", "/console/configuration?find=store&changed=1",
}

func pagesOf(id string) (out []string) {
	for _, p := range everything {
		out = append(out, strings.ReplaceAll(p, "%s", id))
	}
	return out
}

// Each page, with each combination of scopes, shows texts only with the scope content, and nothing of
// another tenant without the scope admin. All links lead somewhere.
func TestScopes(t *testing.T) {
	keys := &keyring{keys: map[string]server.Principal{}}
	s := newSite(t, keys)
	s.fill()
	scopes := []string{server.ScopeBuild, server.ScopeMemoryRead, server.ScopeMemoryWrite, server.ScopeAdmin, server.ScopeContent}
	for n := range uint(1) << len(scopes) {
		if has := bits.OnesCount(n); has > 1 && has < len(scopes)-1 && os.Getenv("ANCHOR_THOROUGH") == "" {
			continue // with each scope alone and with all but each, most of what can go wrong shows
		}
		p := server.Principal{KeyID: "k", Tenant: "acme"}
		for i, scope := range scopes {
			if n&(1<<i) != 0 {
				p.Scopes = append(p.Scopes, scope)
			}
		}
		if len(p.Scopes) == 0 {
			p.Scopes = []string{server.ScopeCollections}
		}
		key := fmt.Sprint("key", n)
		keys.mu.Lock()
		keys.keys[key] = p
		keys.mu.Unlock()
		u := s.signIn(key)
		for path, page := range u.crawl("/console/") {
			checkLeaks(t, p, path, page)
		}
		for _, path := range append(pagesOf("id-of-acme"), pagesOf(others)...) {
			for _, tenant := range []string{"", "other"} {
				at := path
				if tenant != "" {
					at += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "tenant=" + tenant
				}
				checkLeaks(t, p, at, u.send(at, nil).Body.String())
			}
		}
	}
}

func checkLeaks(t *testing.T, p server.Principal, path, page string) {
	t.Helper()
	if strings.Contains(page, secret) && !p.Has(server.ScopeContent) {
		t.Errorf("%v: %s shows a text", p.Scopes, path)
	}
	echoed := strings.Contains(path, others) // the form shows again what the user wrote
	if !p.Has(server.ScopeAdmin) && !echoed && strings.Contains(page, others) {
		t.Errorf("%v: %s shows another tenant", p.Scopes, path)
	}
	if echoed && !p.Has(server.ScopeAdmin) && strings.Contains(page, others+"-item") {
		t.Errorf("%v: %s shows a build of another tenant", p.Scopes, path)
	}
}

// With every scope the pages show what they are for.
func TestPages(t *testing.T) {
	u := &user{site: newSite(t, nil)}
	u.fill()
	for path, want := range map[string][]string{
		"/console/?tenant=acme":                                     {"id-of-acme-b2", "The last minute", "p99"},
		"/console/builds?tenant=acme":                               {"id-of-acme-b1", "id-of-acme-b2"},
		"/console/builds?tenant=acme&conversation=none":             {"No build is like that"},
		"/console/build?tenant=acme&id=id-of-acme-b1":               {"<svg", "id-of-acme-item-0", "window full", "admitted at place 1 of the window", secret, "--as-request"},
		"/console/build?tenant=acme&id=id-of-acme-b1&find=m-3":      {"id-of-acme-item-3"},
		"/console/diff?tenant=acme&a=id-of-acme-b1&b=id-of-acme-b2": {"went", "rewritten", "The common beginning ends at item"},
		"/console/conversation?tenant=acme&id=id-of-acme-chat":      {"<polygon", "id-of-acme-b1", `class="turn"`},
		"/console/memory?tenant=acme&find=secret":                   {"id-of-acme-fact", "id-of-acme-run"},
		"/console/fact?tenant=acme&id=id-of-acme-fact":              {secret, "Delete this fact"},
		"/console/run?tenant=acme&id=id-of-acme-run":                {secret},
		"/console/configuration":                                    {"window.max_tokens", "anchor.yaml:2"},
		"/console/plugins":                                          {"calls no plugins"},
		"/console/rollout":                                          {"follows no rollout", "No step has one"},
	} {
		w := u.send(path, nil)
		for _, text := range want {
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), text) {
				t.Errorf("%s: status %d, lacks %q", path, w.Code, text)
			}
		}
	}
	page := u.send("/console/build?tenant=acme&id=id-of-acme-b1&find=m-3", nil).Body.String()
	if strings.Contains(page, `class="id">id-of-acme-item-4<`) {
		t.Error("the filter shows other items")
	}
}

// A tenant sees its own costs, and admin those of all tenants or of the one that it chooses.
func TestCosts(t *testing.T) {
	s := newSite(t, &keyring{keys: map[string]server.Principal{"own": {KeyID: "k", Tenant: "acme", Scopes: []string{server.ScopeBuild}}, "all": {KeyID: "a", Tenant: "nobody", Scopes: []string{server.ScopeAdmin}}}})
	s.fill()
	own, all := s.signIn("own").send("/console/costs", nil).Body.String(), s.signIn("all")
	if !strings.Contains(own, "<dd>$0.0123</dd>") || !strings.Contains(own, "id-of-acme-key") || strings.Contains(own, others) {
		t.Errorf("costs of acme:\n%s", own)
	}
	if page := all.send("/console/costs?tenant=other", nil).Body.String(); !strings.Contains(page, others+"-key") || strings.Contains(page, "id-of-acme") {
		t.Errorf("costs of another tenant for admin:\n%s", page)
	}
	page := all.send("/console/costs", nil).Body.String()
	for _, want := range []string{"of all tenants", others + "-key", "id-of-acme-key", ">acme</td>", "<dd>$0.0246</dd>"} {
		if !strings.Contains(page, want) {
			t.Errorf("costs of all tenants without %s:\n%s", want, page)
		}
	}
	if page := all.send("/console/costs?tenant=nobody", nil).Body.String(); !strings.Contains(page, "Nothing was spent") {
		t.Errorf("costs of nobody:\n%s", page)
	}
}

// Hostile names and texts stay texts.
func TestHostileTexts(t *testing.T) {
	u := &user{site: newSite(t, nil)}
	evil := "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202egnp.exe {{.}}"
	long := strings.Repeat("n", 1<<20)
	u.build("", "b1", "chat "+evil, evil, evil, "nul\x00", "\u2067rtl", long)
	u.build("", "b2", "chat "+evil, evil+"2", evil, "nul\x00", long)
	facts, err := u.app.Facts(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := facts.Add(t.Context(), memory.Entry{ID: "f " + evil, Content: evil + "\x00", Relevance: 0.5, UserID: evil, Tags: []string{evil}, Metadata: map[string]any{evil: evil}}); err != nil {
		t.Fatal(err)
	}
	q := url.QueryEscape
	start := []string{
		"/console/", "/console/diff?a=b1&b=b2", "/console/conversation?id=" + q("chat "+evil), "/console/fact?id=" + q("f "+evil),
		"/console/builds?pipeline=" + q(evil) + "&conversation=" + q(evil), "/console/memory?find=" + q(evil) + "&user=" + q(evil) + "&tag=" + q(evil),
		"/console/configuration?find=" + q(evil), "/console/build?id=b1&find=" + q(evil) + "&show=" + q(evil) + "&page=9999999999999999999999",
		"/console/diff?a=b1&b=b2&page=-1",
	}
	run, err := u.app.Run(t.Context(), "", "r "+evil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Push(t.Context(), frames.Frame{Kind: frames.Other(evil + "\x00" + long[:1<<16]), Summary: evil}, agentrun.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for path, page := range u.crawl(append(start, "/console/run?id="+q("r "+evil))...) {
		if strings.Contains(path, "/request") {
			continue // it is a download
		}
		if strings.Contains(page, "gnp.exe") {
			seen++
		}
		for _, bad := range []string{"<script>alert", "<img", "\u202e", "\u2067", "\x00"} {
			if strings.Contains(page, bad) {
				t.Errorf("%.80s has %q", path, bad)
			}
		}
		if len(page) > 400_000 {
			t.Errorf("%.80s has %d bytes", path, len(page))
		}
	}
	if seen < 6 {
		t.Errorf("only %d pages show the texts", seen)
	}
	for _, path := range []string{"/console/build?id=" + q(evil), "/console/build?id=" + long[:15000], "/console/fact?id=none", "/console/run", "/console/conversation", "/console/none", "/console/assets/none", "/console/assets/../console.go"} {
		if w := u.send(path, nil); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "<script>alert") {
			t.Errorf("%.60s: status %d", path, w.Code)
		}
	}
	for _, path := range []string{"/console/builds?cursor=x", "/console/builds?outcome=x", "/console/builds?since=x", "/console/memory?type=x", "/console/run?id=r&from=x"} {
		if w := u.send(path, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
}

// Only a form of the console changes something.
func TestForgedForms(t *testing.T) {
	keys := &keyring{keys: map[string]server.Principal{
		"writer":  {KeyID: "w", Tenant: "acme", Scopes: []string{server.ScopeMemoryRead, server.ScopeMemoryWrite}},
		"reader":  {KeyID: "r", Tenant: "acme", Scopes: []string{server.ScopeMemoryRead, server.ScopeAdmin, server.ScopeContent}},
		"another": {KeyID: "a", Tenant: "other", Scopes: []string{server.ScopeMemoryRead, server.ScopeMemoryWrite}},
	}}
	s := newSite(t, keys)
	s.fill()
	u, open := s.signIn("writer"), &user{site: newSite(t, nil)}
	csrf := u.csrf("/console/fact?id=id-of-acme-fact")
	form := func(token string) url.Values { return url.Values{"csrf": {token}} }
	another := s.signIn("another")
	reader := s.signIn("reader")
	for name, got := range map[string]int{
		"no token":           u.send("/console/fact/delete?id=id-of-acme-fact", form("")).Code,
		"a wrong token":      u.send("/console/fact/delete?id=id-of-acme-fact", form("x")).Code,
		"that of another":    u.send("/console/fact/delete?id=id-of-acme-fact", form(another.csrf("/console/memory"))).Code,
		"from another site":  u.send("/console/fact/delete?id=id-of-acme-fact", form(csrf), "Sec-Fetch-Site", "cross-site").Code,
		"another origin":     u.send("/console/fact/delete?id=id-of-acme-fact", form(csrf), "Origin", "http://evil.example").Code,
		"without the scope":  reader.send("/console/fact/delete?id=id-of-acme-fact", form(reader.csrf("/console/memory"))).Code,
		"without keys":       open.send("/console/fact/delete?id=id-of-acme-fact", form("")).Code,
		"the key of another": another.send("/console/fact/delete?id=id-of-acme-fact&tenant=acme", form(another.csrf("/console/memory"))).Code,
	} {
		if got != http.StatusForbidden {
			t.Errorf("%s: status %d", name, got)
		}
	}
	if w := another.send("/console/fact/delete?id=id-of-acme-fact", form(another.csrf("/console/memory"))); w.Code != http.StatusNotFound {
		t.Errorf("a fact of another tenant: status %d", w.Code)
	}
	if w := (&user{site: s}).send("/console/fact/delete?id=id-of-acme-fact", form(csrf)); w.Code != http.StatusUnauthorized {
		t.Errorf("without a session: status %d", w.Code)
	}
	if w := u.send("/console/fact/delete?id=id-of-acme-fact", form(csrf), "Content-Type", "text/plain"); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("another type: status %d", w.Code)
	}
	if w := u.send("/console/sign-in", url.Values{"key": {strings.Repeat("k", maxForm)}}); w.Code != http.StatusRequestEntityTooLarge && w.Code != http.StatusUnauthorized {
		t.Errorf("a large form: status %d", w.Code)
	}
	if w := u.send("/console/fact?id=id-of-acme-fact", nil); w.Code != http.StatusOK {
		t.Fatalf("the fact is gone: status %d", w.Code)
	}
	w := u.send("/console/fact/delete?id=id-of-acme-fact", form(csrf), "Origin", "http://"+s.host)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/console/memory?deleted=1" {
		t.Errorf("a true form: status %d, %s", w.Code, w.Header().Get("Location"))
	}
	if w := u.send("/console/fact?id=id-of-acme-fact", nil); w.Code != http.StatusNotFound {
		t.Errorf("the fact is still there: status %d", w.Code)
	}
}

// Without keys a name that another site points to this computer is refused.
func TestOtherNames(t *testing.T) {
	s := newSite(t, nil)
	live := httptest.NewServer(s.h)
	defer live.Close()
	for host, want := range map[string]int{"": 200, "localhost:1": 200, "evil.example": 403, "evil.example:8791": 403} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", live.URL+"/console/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		w, err := live.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Body.Close()
		if w.StatusCode != want {
			t.Errorf("host %q: status %d, want %d", host, w.StatusCode, want)
		}
	}
	live.Client().CloseIdleConnections()
}

// Sessions end: when nobody uses them, after a time, with their key, and when the user signs out.
func TestSessions(t *testing.T) {
	keys := &keyring{keys: map[string]server.Principal{"k": {KeyID: "k", Tenant: "acme", Scopes: []string{server.ScopeAdmin}}, "gone": {Tenant: "acme", Scopes: []string{server.ScopeAdmin}}}}
	s := newSite(t, keys)
	now := time.Now()
	s.sessions.now = func() time.Time { return now }
	open := func(u *user) bool { return u.send("/console/builds", nil).Code == http.StatusOK }
	u := s.signIn("k")
	if !open(u) {
		t.Fatal("the session does not begin")
	}
	for range 3 {
		if now = now.Add(idleTime - time.Second); !open(u) {
			t.Error("a session that is used ends")
		}
	}
	if now = now.Add(idleTime + time.Second); open(u) {
		t.Error("a session that nobody uses does not end")
	}
	u = s.signIn("k")
	for range 14 {
		now = now.Add(idleTime - time.Minute)
		_ = open(u)
	}
	if open(u) {
		t.Error("a session is too old and does not end")
	}
	u = s.signIn("gone")
	if keys.revoke("gone"); open(u) {
		t.Error("a session goes on without its key")
	}
	u = s.signIn("k")
	old := u.cookie
	if w := u.send("/console/sign-out", url.Values{"csrf": {u.csrf("/console/builds")}}); w.Code != http.StatusSeeOther || u.cookie != "" {
		t.Errorf("sign out: status %d, cookie %q", w.Code, u.cookie)
	}
	if u.cookie = old; open(u) {
		t.Error("the session goes on after signing out")
	}
	u = s.signIn("k")
	for range maxSessions + 10 {
		s.sessions.begin("of another user")
	}
	if !open(u) {
		t.Error("the sessions of one key end that of another")
	}
	for n := range maxSessions + 10 {
		s.sessions.begin(fmt.Sprint("key ", n))
	}
	if n := len(s.sessions.list); n != maxSessions {
		t.Errorf("%d sessions", n)
	}
}

// Cookies are for this site alone, and a user comes back to the page that was asked for, but to no
// other site.
func TestSignIn(t *testing.T) {
	keys := &keyring{keys: map[string]server.Principal{"k": {KeyID: "k", Tenant: "acme", Scopes: []string{server.ScopeAdmin}}}}
	s := newSite(t, keys)
	u := &user{site: s}
	w := u.send("/console/builds?outcome=ok", nil)
	if at := w.Header().Get("Location"); w.Code != http.StatusSeeOther || at != "/console/sign-in?next=%2Fconsole%2Fbuilds%3Foutcome%3Dok" {
		t.Errorf("status %d, %s", w.Code, at)
	}
	for next, want := range map[string]string{
		"/console/builds?outcome=ok": "/console/builds?outcome=ok", "": "/console/", "https://evil.example/": "/console/", "//evil.example/": "/console/", "/console/\\evil": "/console/", "/console/sign-out": "/console/",
		"/console/../debug/pprof/": "/console/", "/console/./sign-out": "/console/", "/console//evil.example": "/console/", "/console/%2e%2e/debug/pprof/": "/console/",
	} {
		w := u.send("/console/sign-in", url.Values{"key": {"k"}, "next": {next}})
		if at := w.Header().Get("Location"); w.Code != http.StatusSeeOther || at != want {
			t.Errorf("%q: status %d, %s", next, w.Code, at)
		}
		c := w.Result().Cookies()[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/console/" || c.MaxAge <= 0 || len(c.Value) < 40 {
			t.Errorf("cookie %+v", c)
		}
	}
	now := time.Now()
	s.attempts.now = func() time.Time { return now }
	u = &user{site: s}
	for n := range maxAttempts {
		if w := u.send("/console/sign-in", url.Values{"key": {"wrong"}}); w.Code != http.StatusUnauthorized {
			t.Errorf("attempt %d: status %d", n, w.Code)
		}
	}
	if w := u.send("/console/sign-in", url.Values{"key": {"k"}}); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || u.cookie != "" {
		t.Errorf("after too many attempts: status %d", w.Code)
	}
	now = now.Add(attemptTime + time.Second)
	if w := u.send("/console/sign-in", url.Values{"key": {"k"}}); w.Code != http.StatusSeeOther {
		t.Errorf("a minute later: status %d", w.Code)
	}
	for _, jump := range []time.Duration{-time.Hour, time.Hour} {
		for range maxAttempts + 1 {
			s.attempts.take("jumps")
		}
		now = now.Add(jump)
		if !s.attempts.take("jumps") {
			t.Errorf("the clock jumped by %v: no attempt may be made, want that nobody is shut out for an hour", jump)
		}
	}
	for n := range 2 * maxAddresses {
		s.attempts.take(fmt.Sprint(n))
	}
	if n := len(s.attempts.from); n > maxAddresses {
		t.Errorf("%d addresses are remembered", n)
	}
}

func TestAssets(t *testing.T) {
	u := &user{site: newSite(t, nil)}
	for path, page := range u.crawl("/console/") {
		if !strings.HasPrefix(path, "/console/assets/") {
			continue
		}
		h := u.send(path, nil).Header()
		if !strings.Contains(h.Get("Cache-Control"), "immutable") || h.Get("Content-Type") == "" || page == "" {
			t.Errorf("%s: %v", path, h)
		}
	}
	if len(u.pages.assets) < 3 {
		t.Errorf("%d assets", len(u.pages.assets))
	}
	if h := u.send("/console/", nil).Header(); h.Get("Cache-Control") != "no-store" {
		t.Errorf("a page may be kept: %v", h)
	}
	if w := u.send("/console", nil); w.Header().Get("Location") != "/console/" {
		t.Error("the address without a slash leads nowhere")
	}
}

// A build is repeated from its request, and compared with the first one.
func TestRebuild(t *testing.T) {
	keys := &keyring{keys: map[string]server.Principal{
		"all":  {Tenant: "acme", Scopes: []string{server.ScopeBuild, server.ScopeContent}},
		"none": {Tenant: "acme", Scopes: []string{server.ScopeBuild}},
	}}
	s := newSite(t, keys)
	s.fill()
	facts, err := s.app.Facts(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := facts.Delete(t.Context(), "id-of-acme-fact"); err != nil { // the first build did not have it
		t.Fatal(err)
	}
	u := s.signIn("all")
	form := url.Values{"csrf": {u.csrf("/console/build?id=id-of-acme-b1")}, "id": {"id-of-acme-b1"}}
	w := u.send("/console/build/again", form)
	at := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || !strings.HasPrefix(at, "/console/diff?a=id-of-acme-b1&b=") {
		t.Fatalf("status %d, %s", w.Code, at)
	}
	if page := u.send(at, nil).Body.String(); !strings.Contains(page, "<p class=\"dim\">None.</p>") {
		t.Errorf("the builds differ: %.200s", page[strings.Index(page, "Items that differ"):])
	}
	o := anchor.BuildOptions{Tenant: "acme", ID: "of-ann", User: "ann", Conversation: "talk-of-ann"}
	if _, err := s.app.BuildRequest(t.Context(), "request", strings.NewReader(`{"query": "q", "counting": {"tokenizer": "words"}}`), o); err != nil {
		t.Fatal(err)
	}
	if err := s.app.FlushRecords(t.Context()); err != nil {
		t.Fatal(err)
	}
	form.Set("id", "of-ann") // its conversation belongs to ann, so nobody else may repeat it
	w = u.send("/console/build/again", form)
	if at = w.Header().Get("Location"); w.Code != http.StatusSeeOther {
		t.Fatalf("a build of a user: status %d, %s", w.Code, w.Body)
	}
	if r, err := s.app.BuildRecord(t.Context(), "acme", at[strings.LastIndex(at, "=")+1:]); err != nil || r.User != "ann" {
		t.Errorf("the repetition: %+v, %v", r, err)
	}
	form.Set("id", others+"-b1")
	if w := u.send("/console/build/again", form); w.Code != http.StatusNotFound {
		t.Errorf("a build of another tenant: status %d", w.Code)
	}
	form.Set("id", "id-of-acme-b1")
	u.rebuilds <- struct{}{}
	if w := u.send("/console/build/again", form); w.Code != http.StatusServiceUnavailable {
		t.Errorf("two at the same time: status %d", w.Code)
	}
	<-u.rebuilds
	u.o.Flush = func(context.Context) error { return context.DeadlineExceeded }
	if w := u.send("/console/build/again", form); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "its record is not written yet") {
		t.Errorf("a store that is busy: status %d, %s", w.Code, w.Body)
	}
	u = s.signIn("none")
	form.Set("csrf", u.csrf("/console/builds"))
	if w := u.send("/console/build/again", form); w.Code != http.StatusForbidden {
		t.Errorf("without the scope content: status %d", w.Code)
	}
}

// Figures come as events, until the session ends; there are only so many streams.
func TestEvents(t *testing.T) {
	keys := &keyring{keys: map[string]server.Principal{"k": {Tenant: "acme", Scopes: []string{server.ScopeAdmin}}}}
	s := newSite(t, keys)
	live := httptest.NewServer(s.h)
	defer live.Close()
	u := s.signIn("k")
	ask := func(cookie string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", live.URL+"/console/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Cookie", cookieName+"="+cookie)
		w, err := live.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := ask(u.cookie)
	line := make([]byte, 12)
	if _, err := io.ReadFull(w.Body, line); err != nil || string(line) != `data: {"figu` || w.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%q, %v, %v", line, err, w.Header)
	}
	keys.revoke("k")
	if _, err := io.Copy(io.Discard, w.Body); err != nil {
		t.Error(err)
	}
	_ = w.Body.Close()
	if w := ask("none"); w.StatusCode != http.StatusNoContent {
		t.Errorf("without a session: status %d", w.StatusCode)
	} else {
		_ = w.Body.Close()
	}
	keys.mu.Lock()
	keys.keys["k"] = server.Principal{Tenant: "acme", Scopes: []string{server.ScopeAdmin}}
	keys.mu.Unlock()
	u = s.signIn("k")
	for range maxStreams {
		s.streams <- struct{}{}
	}
	if w := ask(u.cookie); w.StatusCode != http.StatusNoContent {
		t.Errorf("too many streams: status %d", w.StatusCode)
	} else {
		_ = w.Body.Close()
	}
	live.Client().CloseIdleConnections()
}

// A page of a large build has a part of its items, and links to all.
func TestLargeBuild(t *testing.T) {
	u := &user{site: newSite(t, nil)}
	u.large(5000)
	w := u.send("/console/build?id=large", nil)
	rows := strings.Count(w.Body.String(), "item-")
	if w.Code != http.StatusOK || rows > 4*itemPage || !strings.Contains(w.Body.String(), "of 5\u202f000") {
		t.Errorf("status %d, %d items, %d bytes", w.Code, rows, w.Body.Len())
	}
	last := u.send("/console/build?id=large&page=50", nil).Body.String()
	if !strings.Contains(last, "4\u202f901–5\u202f000 of 5\u202f000") || strings.Contains(last, `rel="next"`) {
		t.Errorf("the last page: %.300s", last[strings.Index(last, `class="pager"`):])
	}
}

func (u *user) large(n int) {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprint("item-", i)
	}
	u.build("", "large", "", "some text of an item", items...)
}

// Counts by which quantiles and rates are known.
func TestRates(t *testing.T) {
	at := time.Now()
	bounds := []float64{0.001, 0.01, 0.1, math.Inf(1)}
	a := moment{at, Totals{Builds: 100, Bounds: bounds, Buckets: []float64{50, 100, 100, 100}, Common: 5, New: 5}}
	b := moment{at.Add(10 * time.Second), Totals{Builds: 200, Failed: 10, Skips: 5, Bounds: bounds, Buckets: []float64{50, 150, 199, 200}, Common: 35, New: 15, In: map[string]float64{"tool": 70}, Out: map[string]float64{"tool": 10}}}
	r := between(&a, &b)
	if r.Builds != 10 || r.Failed != 0.1 || r.Skips != 30 || r.Cached != 0.75 || r.In != 7 || r.Out != 1 || r.P50 < 9.9 || r.P50 > 10.1 || r.P99 < 99 || r.P99 > 101 {
		t.Errorf("%+v", r)
	}
	if got := figuresOf(between(&a, &a)); got[1].Value != "–" || got[3].Value != "–" {
		t.Errorf("nothing happened: %+v", got)
	}
	h := &history{}
	for n := range maxSamples + 50 {
		h.add(at.Add(time.Duration(n)*sampleEvery), Totals{}, anchor.Status{Number: int64(n/10 + 1)})
	}
	list, generations := h.read()
	if len(list) != maxSamples || len(generations) != maxGenerations || generations[0].Number != 35 {
		t.Errorf("%d samples, %d generations, %+v", len(list), len(generations), generations[0])
	}
	if got := series(list); len(got) != 59 {
		t.Errorf("%d points", len(got))
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		count(1234567): "1\u202f234\u202f567", count(-1234): "-1\u202f234", count(999): "999", count(0.25): "0.25", count(12.34): "12.3", count(12345.0): "12.3 k", count(int64(5e10)): "50.0 G",
		millis(0.5): "0.50 ms", millis(12): "12.0 ms", millis(12345): "12.3 s", size(1 << 20): "1.0 MiB", percent(0.5): "50.0 %",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if s := short(strings.Repeat("ä", 100)); len([]rune(s)) != shortLength+1 {
		t.Errorf("%q", s)
	}
	if !slices.Equal(sourceNames(map[string]float64{"tool": 1, "memory": 1}, map[string]float64{"other": 1}), []string{"other", "memory", "tool"}) {
		t.Error(sourceNames(map[string]float64{"tool": 1, "memory": 1}, map[string]float64{"other": 1}))
	}
}

func BenchmarkBuildPage(b *testing.B) {
	u := &user{site: newSite(b, nil)}
	u.large(5000)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			u.docs.list = nil
			u.send("/console/build?id=large", nil)
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			u.send("/console/build?id=large", nil)
		}
	})
}
