package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/store"
)

// ask builds a window of some items for a sender, and records it.
func (s *site) ask(o anchor.BuildOptions, question string, items ...string) {
	s.t.Helper()
	var list []map[string]any
	for _, id := range items {
		list = append(list, map[string]any{"id": id, "content": "text", "source": "retrieval"})
	}
	doc, err := json.Marshal(map[string]any{"query": question, "items": list})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.app.BuildRequest(s.t.Context(), "request", strings.NewReader(string(doc)), o); err != nil && pipeline.DiagnosticsOf(nil, err) == nil {
		s.t.Fatal(err)
	}
	if err := s.app.FlushRecords(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

var row = regexp.MustCompile(`(?s)<td class="wide"><a href="([^"]+)"[^>]*>([^<]+)</a>`)

// listed are the questions of a list of builds, the newest first.
func (u *user) listed(path string) (out []string) {
	u.t.Helper()
	w := u.send(path, nil)
	if w.Code != http.StatusOK {
		u.t.Fatalf("%s: status %d: %s", path, w.Code, w.Body)
	}
	for _, m := range row.FindAllStringSubmatch(w.Body.String(), -1) {
		out = append(out, html.UnescapeString(m[2]))
	}
	return out
}

// people asks questions: two users of the same name in two tenants.
func people(t *testing.T) *site {
	s := newSite(t, &keyring{keys: map[string]server.Principal{
		"all":   {KeyID: "a", Tenant: "ops", Scopes: []string{server.ScopeAdmin, server.ScopeContent}},
		"blind": {KeyID: "b", Tenant: "ops", Scopes: []string{server.ScopeAdmin}},
		"acme":  {KeyID: "c", Tenant: "acme", Scopes: []string{server.ScopeBuild, server.ScopeContent}},
	}})
	s.ask(anchor.BuildOptions{Tenant: "acme", ID: "a1", User: "ann", Key: "shop", RequestID: "r1", Session: "web"}, "Where is my REFUND for Straße 5?", "doc-7", "doc-8")
	s.ask(anchor.BuildOptions{Tenant: "acme", ID: "a2", User: "bob", Key: "shop", RequestID: "r2"}, "How do I cancel?", "doc-8")
	s.ask(anchor.BuildOptions{Tenant: "other", ID: "o1", User: "ann", Key: "desk", RequestID: "r3"}, "My refund, please", "doc-7")
	s.ask(anchor.BuildOptions{Tenant: "other", ID: "o2", User: "ann", Key: "desk", RequestID: "r4"}, strings.Repeat("long ", 150), "doc-9")
	return s
}

// A search finds builds by each field, in one tenant or in all.
func TestSearch(t *testing.T) {
	s := people(t)
	u, own := s.signIn("all"), s.signIn("acme")
	const refund, cancel, please = "Where is my REFUND for Straße 5?", "How do I cancel?", "My refund, please"
	long := []string{strings.Repeat("long ", 16) + "…"}
	for path, want := range map[string][]string{
		"":                                   append(long, please, cancel, refund),
		"?tenant=acme":                       {cancel, refund},
		"?tenant=*&text=refund":              {please, refund},
		"?text=refund+where":                 {refund},
		"?text=refund+nowhere":               nil,
		"?text=STRASSE":                      nil,
		"?text=stra%C3%9Fe":                  {refund},
		"?tenant=acme&text=refund":           {refund},
		"?user=ann&text=refund":              {please, refund},
		"?user=ann&tenant=other":             append(long, please),
		"?request_id=r3":                     {please},
		"?key=shop":                          {cancel, refund},
		"?item=doc-7":                        {please, refund},
		"?item=doc-7&tenant=acme":            {refund},
		"?item=doc":                          nil,
		"?tenant=nobody":                     nil,
		"?outcome=ok&since=1h&user=bob":      {cancel},
		"?outcome=failed":                    nil,
		"?text=" + strings.Repeat("x", 5000): nil,
	} {
		if got := u.listed("/console/builds" + path); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%.60s: %q, want %q", path, got, want)
		}
	}
	if got := own.listed("/console/builds?text=refund"); fmt.Sprint(got) != fmt.Sprint([]string{refund}) {
		t.Errorf("another tenant is searched, too: %q", got)
	}
	for path, want := range map[string]string{"request=r3": "request_id", "q=refund": "text", "usr=ann": "user"} { // not a list of all builds
		if w := u.send("/console/builds?"+path, nil); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d, %s", path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/console/builds?tenant=other", "/console/builds?tenant=*"} {
		if w := own.send(path, nil); w.Code != http.StatusForbidden {
			t.Errorf("%s without the scope admin: status %d", path, w.Code)
		}
	}
}

// limited is a service whose searches end before the oldest record.
type limited struct{ *anchor.App }

func (l limited) FindBuilds(ctx context.Context, tenant string, f builds.Filter, cursor string, limit int) (builds.Page, error) {
	page, err := l.App.FindBuilds(ctx, tenant, f, cursor, limit)
	page.Next = "1"
	return page, err
}

// A search that has not looked at every record says so.
func TestPartialSearch(t *testing.T) {
	s := people(t)
	u := s.signIn("all")
	const not = "The search is not complete"
	for _, path := range []string{"/console/builds?user=ann", "/console/builds?user=ann&tenant=acme"} {
		if page := u.send(path, nil).Body.String(); strings.Contains(page, not) {
			t.Errorf("%s: a search of everything is not complete", path)
		}
	}
	s.o.App = limited{s.app}
	if page := u.send("/console/builds?user=ann&tenant=acme", nil).Body.String(); !strings.Contains(page, not) || !strings.Contains(page, `rel="next"`) {
		t.Error("a search of one tenant does not say that it is not complete")
	}
	if page := u.send("/console/builds?user=ann", nil).Body.String(); !strings.Contains(page, not) || !strings.Contains(page, "Choose a tenant") {
		t.Error("a search of all tenants does not say that it is not complete")
	}
}

// Without the scope content a list has no questions, and does not say which there are.
func TestSearchWithoutContent(t *testing.T) {
	s := people(t)
	u := s.signIn("blind")
	page := u.send("/console/builds", nil).Body.String()
	if strings.Contains(page, "refund") || strings.Contains(page, "REFUND") || strings.Contains(page, `name="text"`) || !strings.Contains(page, ">a1</a>") {
		t.Errorf("the list:\n%s", page)
	}
	if w := u.send("/console/builds?text=refund", nil); w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "a1") {
		t.Errorf("a search: status %d", w.Code)
	}
	if page := u.send("/console/build?tenant=acme&id=a1", nil).Body.String(); strings.Contains(page, "REFUND") || !strings.Contains(page, "ann") {
		t.Errorf("the page of a build:\n%s", page)
	}
}

// Two builds that are ticked are compared, the earlier one first.
func TestTicks(t *testing.T) {
	s := people(t)
	u, own := s.signIn("all"), s.signIn("acme")
	tick := regexp.MustCompile(`name="pick" value="([^"]+)"`)
	of := func(u *user, path string) (out []string) {
		for _, m := range tick.FindAllStringSubmatch(u.send(path, nil).Body.String(), -1) {
			out = append(out, html.UnescapeString(m[1]))
		}
		return out
	}
	path := func(picks ...string) string { return "/console/diff?" + url.Values{"pick": picks}.Encode() }
	for _, u := range []*user{u, own} {
		boxes := of(u, "/console/builds?key=shop")
		if len(boxes) != 2 {
			t.Fatalf("boxes: %q", boxes)
		}
		w := u.send(path(boxes...), nil)
		at := w.Header().Get("Location")
		if w.Code != http.StatusSeeOther || !strings.Contains(at, "a=a1&b=a2") {
			t.Fatalf("status %d, %s", w.Code, at)
		}
		if w := u.send(at, nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "doc-7") {
			t.Errorf("%s: status %d", at, w.Code)
		}
	}
	all := of(u, "/console/builds")
	for name, picks := range map[string][]string{"one": all[:1], "three": all[:3], "of two tenants": {all[0], all[3]}, "": {""}, "hostile": {"x y z", "\x00"}} {
		if w := u.send(path(picks...), nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d", name, w.Code)
		}
	}
	if w := own.send("/console/diff?tenant=other&a=o1&b=o2", nil); w.Code != http.StatusForbidden {
		t.Errorf("builds of another tenant: status %d", w.Code)
	}
}

// An admin chooses from the tenants of the store and of the keys. The pages of one that has nothing say so.
func TestTenants(t *testing.T) {
	s := people(t)
	s.o.Tenants = func() []string { return []string{"idle", "acme", `"><script>`} }
	u := s.signIn("all")
	page := u.send("/console/", nil).Body.String()
	for _, want := range []string{`<option value="*" selected>`, `<option value="acme">`, `<option value="idle">`, `<option value="other">`, `<option value="ops">`, `&#34;&gt;&lt;script&gt;`, "of the whole service", "of all tenants"} {
		if !strings.Contains(page, want) {
			t.Errorf("the first page lacks %q", want)
		}
	}
	if strings.Count(page, `value="acme"`) != 1 {
		t.Error("a tenant is named twice")
	}
	for _, path := range []string{"", "builds", "conversations", "costs", "memory", "collections", "diff"} {
		w := u.send("/console/"+path+"?tenant=idle", nil)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `<option value="idle" selected>`) || strings.Contains(w.Body.String(), "refund") {
			t.Errorf("%s of a tenant without anything: status %d", path, w.Code)
		}
	}
	if page := s.signIn("acme").send("/console/", nil).Body.String(); strings.Contains(page, "<option value=\"other") || strings.Contains(page, "whole service") {
		t.Error("a key without the scope admin can choose")
	}
}

// The page of a build says first what was asked, what became of it, and what the window lacks.
func TestFate(t *testing.T) {
	s := newSiteOf(t, nil, "pipelines: {p: {steps: [{name: score, use: min_score, settings: {min_score: 0.5}}]}}\n")
	u := &user{site: s}
	s.ask(anchor.BuildOptions{ID: "ok", User: "ann", Session: "web", Key: "shop", RequestID: "r1"}, "Is it <ok>?", "i1")
	s.ask(anchor.BuildOptions{ID: "refused"}, strings.Repeat("word ", 300), "i1")
	page := u.send("/console/build?id=ok", nil).Body.String()
	at := -1
	for _, want := range []string{"Is it &lt;ok&gt;?</h1>", `class="badge ok"`, "<dt>user</dt>", ">ann<", ">web<", ">shop<", ">r1<", "no model was paid", `id="h-window"`} {
		next := strings.Index(page, want)
		if next <= at {
			t.Errorf("%q is at %d, want it after %d", want, next, at)
		}
		at = max(at, next)
	}
	page = u.send("/console/build?id=refused", nil).Body.String()
	if !strings.Contains(page, `class="badge refused"`) || !strings.Contains(page, "budget") || !strings.Contains(page, `<p class="notice bad">`) {
		t.Errorf("a build that was refused:\n%.3000s", page)
	}
	r := &builds.Record{Summary: builds.Summary{Outcome: builds.Degraded, Skipped: []string{"a", "b"}}}
	d, err := decode(&builds.Record{Summary: builds.Summary{ID: "x", Content: true}, Detail: builds.Detail{Result: json.RawMessage(`{"window":{"items":[],"max_tokens":1,"used_tokens":0},"overflow_items":[],"diagnostics":{"step_failures":[{"step":"a","plugin":"p","reason":"timeout","message":"late"}]}}`)}}, true)
	if err != nil {
		t.Fatal(err)
	}
	if got := degradationsOf(r, d); len(got) != 2 || got[0] != (degradation{"a", "p", "timeout", "late"}) || got[1].Step != "b" {
		t.Errorf("%+v", got)
	}
}

// Records that an older version wrote have no question, no user, no cost and no marks. They are listed and shown.
func TestOldRecords(t *testing.T) {
	s := newSite(t, nil)
	u := &user{site: s}
	s.ask(anchor.BuildOptions{ID: "old", User: "ann"}, "a question", "i1")
	db, err := sqlite.Open(t.Context(), filepath.Join(s.dir, "store.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	key := store.Key{Tenant: s.app.Status().Tenant, Kind: builds.KindSummary}
	rec, err := db.Get(t.Context(), key, "old")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(rec.Data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"query", "user", "session", "key", "request_id", "cost_usd", "unpriced", "item_marks"} {
		delete(doc, name)
	}
	if rec.Data, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	if err := db.Put(t.Context(), key, rec); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/console/builds", "/console/", "/console/builds?outcome=ok"} {
		if got := u.listed(path); len(got) != 1 || got[0] != "old" {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := u.listed("/console/builds?item=i1"); got != nil {
		t.Errorf("a search by item: %q", got)
	}
	if w := u.send("/console/build?id=old", nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "a question") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// A configuration of 200 pipelines has pages like any other.
func TestManyPipelines(t *testing.T) {
	var more strings.Builder
	more.WriteString("pipelines:\n")
	for i := range 200 {
		fmt.Fprintf(&more, "  pipeline-%d: {window: {max_tokens: 100}}\n", i)
	}
	u := &user{site: newSiteOf(t, nil, more.String())}
	u.ask(anchor.BuildOptions{ID: "one"}, "a question", "i1")
	for _, path := range []string{"/console/", "/console/builds?pipeline=pipeline-199", "/console/configuration", "/console/keys", "/console/plugins"} {
		if w := u.send(path, nil); w.Code != http.StatusOK || w.Body.Len() > 4<<20 {
			t.Errorf("%s: status %d, %d bytes", path, w.Code, w.Body.Len())
		}
	}
	if page := u.send("/console/configuration?find=pipeline-199", nil).Body.String(); !strings.Contains(page, "pipelines.pipeline-199.window.max_tokens") {
		t.Error("the configuration lacks a pipeline")
	}
}

// broken is a service with a plugin that fails.
type broken struct{ *anchor.App }

func (broken) Plugins() ([]anchor.Plugin, time.Duration) {
	return []anchor.Plugin{{Name: "web", Err: errors.New("its module is missing")}}, 0
}

func (broken) Settings() []anchor.Setting {
	return []anchor.Setting{
		{Path: "plugins.instances.web.grants.http.hosts", Text: "api.example.com"}, {Path: "plugins.instances.web.grants.http.private", Text: "true"},
		{Path: "plugins.instances.web.grants.http.headers.api.example.com.X-Pass", Text: secret}, {Path: "plugins.instances.website.grants.http.hosts", Text: "elsewhere.example"},
	}
}

// Plugins have what they are granted, and the text, the time and the build of their last failures.
func TestPluginPage(t *testing.T) {
	keys := &keyring{keys: map[string]server.Principal{
		"all":   {KeyID: "a", Tenant: "ops", Scopes: []string{server.ScopeAdmin, server.ScopeContent}},
		"blind": {KeyID: "b", Tenant: "ops", Scopes: []string{server.ScopeAdmin}},
	}}
	s := newSite(t, keys)
	s.o.App = broken{s.app}
	info := &server.BuildInfo{ID: "b7", Request: &server.RequestInfo{ID: "r7", Principal: server.Principal{Tenant: "acme"}}}
	_, _, end := s.o.Activity.Observer().OnBuild(t.Context(), info)
	for n := range maxFailures + 3 {
		end(&pipeline.Result{Diagnostics: &pipeline.Diagnostics{StepFailures: []pipeline.StepFailure{{Step: "fetch", Plugin: "web", Reason: "http", Message: fmt.Sprint("connect: refused ", n, strings.Repeat("x", 10_000))}, {Step: "no plugin"}}}}, nil)
	}
	end(nil, errors.New("the build did not begin"))
	s.o.Failures = &failures.Log{Host: "h1"}
	s.o.Failures.Add(record.Failure{Call: record.Call{Plugin: "web", Operation: "filter", Step: "fetch", Err: "divided <by> zero", Request: []byte(`{"items":[]}`)}, Tenant: "acme", Reason: "trap", Stack: "main.go:7"})
	id := strconv.FormatInt(s.o.Failures.Of(t.Context(), failures.Viewer{All: true}, "").Failures[0].ID, 10)
	page, blind := s.signIn("all").send("/console/plugins", nil).Body.String(), s.signIn("blind").send("/console/plugins", nil).Body.String()
	for _, want := range []string{"api.example.com", "http.private", "set, not shown", "its module is missing", "connect: refused 7", "divided &lt;by&gt; zero", "main.go:7", "plugin call MODULE anchor_filter --timeout", "/console/plugins/case?id=" + id, "host h1", "/console/build?id=b7&amp;tenant=acme"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, secret) || strings.Contains(page, "elsewhere") || strings.Contains(page, "refused 2") || len(page) > 60_000 {
		t.Errorf("the page has too much: %d bytes", len(page))
	}
	if got := s.signIn("all").send("/console/plugins/case?id="+id, nil); got.Code != 200 || !strings.Contains(got.Body.String(), `"operation": "filter"`) {
		t.Errorf("the case: %d %s", got.Code, got.Body)
	}
	if a, b := s.signIn("blind").send("/console/plugins/case?id="+id, nil).Code, s.signIn("all").send("/console/plugins/case?id=2", nil).Code; a != 403 || b != 404 {
		t.Errorf("%d without the scope content, %d for what is not kept", a, b)
	}
	if strings.Contains(blind, "connect") || strings.Contains(blind, "divided") || strings.Contains(blind, "case?id") || !strings.Contains(blind, "b7") {
		t.Error("texts of failures without the scope content")
	}
}

// The page of keys says what each may do and did, and which requests were refused.
func TestKeysPage(t *testing.T) {
	s := people(t)
	s.o.Keys = func() []Key {
		return []Key{{ID: "shop", Tenant: "acme", Scopes: []string{"build"}, State: "active", Note: "<b>the shop", Limits: []Limit{{"usd_per_day", 2.5}}, TenantLimits: []Limit{{"memory_records", 100}}}, {ID: "late", Tenant: "gone", State: "revoked"}}
	}
	_, end := s.o.Activity.Observer().OnRequest(t.Context(), nil)
	who := &server.RequestInfo{ID: "r99", Action: "build", Principal: server.Principal{KeyID: "shop", Tenant: "acme"}}
	end(who, server.Usage{}, nil)
	end(who, server.Usage{}, &server.Refusal{Status: http.StatusTooManyRequests, Reason: "quota"})
	end(&server.RequestInfo{ID: "r98", Admin: true, Principal: who.Principal}, server.Usage{}, &server.Refusal{Status: http.StatusForbidden})
	end(&server.RequestInfo{Admin: true, Principal: server.Principal{KeyID: "ops"}}, server.Usage{}, nil)
	if u := s.o.Activity.use("ops"); u.Last.IsZero() || u.Requests != 0 {
		t.Errorf("a key that only the console was used with: %+v", u)
	}
	for range 2 * maxRefused {
		end(&server.RequestInfo{}, server.Usage{}, &server.Refusal{Status: http.StatusUnauthorized, Reason: "invalid_key"})
	}
	if n := len(s.o.Activity.lastRefused()); n != maxRefused {
		t.Errorf("%d refused requests are remembered, want %d", n, maxRefused)
	}
	end(who, server.Usage{}, &server.Refusal{Status: http.StatusTooManyRequests, Reason: "quota"})
	page := s.signIn("blind").send("/console/keys", nil).Body.String()
	for _, want := range []string{"usd_per_day 2.5", "memory_records 100", "&lt;b&gt;the shop", "not yet", "revoked", `data-l="requests">3<`, `data-l="refused">2<`, "r99", "invalid_key"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "r98") {
		t.Error("a request to the admin listener is shown")
	}
	if w := s.signIn("acme").send("/console/keys", nil); w.Code != http.StatusForbidden {
		t.Errorf("without the scope admin: status %d", w.Code)
	}
}

// Reloads are listed with their errors.
func TestReloads(t *testing.T) {
	s := newSite(t, nil)
	u := &user{site: s}
	path := filepath.Join(s.dir, "anchor.yaml")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(good), "window: {max_tokens: many}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = s.app.Reload(t.Context())
		u.send("/console/configuration", nil)
	}
	page := u.send("/console/configuration", nil).Body.String()
	if strings.Count(page, `data-l="outcome"`) != 2 || !strings.Contains(page, "anchor.yaml:1") || !strings.Contains(page, `<span class="badge failed">failed</span>`) {
		t.Errorf("reloads:\n%.2500s", page)
	}
}

// Facts that windows use are listed by how often they do.
func TestFactsInUse(t *testing.T) {
	u := &user{site: newSite(t, nil)}
	u.fill()
	if page := u.send("/console/memory?tenant=acme", nil).Body.String(); strings.Contains(page, "Facts in use") {
		t.Error("a fact that nothing used")
	}
	facts, err := u.app.Facts(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	e, err := facts.Get(t.Context(), "id-of-acme-fact")
	if err != nil {
		t.Fatal(err)
	}
	list := append(mostUsed(nil), e)
	list[0].AccessCount = 3
	e.ID, e.AccessCount = "more", 9
	list = append(list, e)
	e.ID, e.AccessCount = "none", 0
	if got := mostUsed(append(list, e)); len(got) != 2 || got[0].ID != "more" {
		t.Errorf("%+v", got)
	}
}

var (
	cell  = regexp.MustCompile(`<td([^>]*)>`)
	table = regexp.MustCompile(`(?s)<tr><td.*?</tr>`)
)

// On a phone, where tables are cards, each cell but the first has the name of its column.
func TestCellsHaveNames(t *testing.T) {
	names, err := files.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range names {
		data, err := files.ReadFile("templates/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if f.Name() == "parts.html" {
			continue // the list of builds shows by its form what each cell is
		}
		for _, row := range table.FindAllString(string(data), -1) {
			for i, c := range cell.FindAllStringSubmatch(row, -1) {
				if seen++; i > 0 && !strings.Contains(c[1], "data-l=") && !strings.Contains(c[1], "colspan") {
					t.Errorf("%s: cell %d has no name: %.200s", f.Name(), i, row)
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d cells: the test looks at nothing", seen)
	}
}
