package lock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/registry/trust"
)

const (
	one = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	two = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
	key = "C752394A98B8BDD0"
)

func parsed(t testing.TB, text string) *manifest.Manifest {
	t.Helper()
	m, err := manifest.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// asking is a manifest with permissions, in JSON without reasons.
func asking(t testing.TB, permissions ...string) *manifest.Manifest {
	t.Helper()
	for i, p := range permissions {
		permissions[i] = strings.Replace(p, "{", `{"reason":"r",`, 1)
	}
	return parsed(t, `{"abi":1,"name":"bm25","version":"1.2.3","operations":{"filter":{}},"permissions":[`+strings.Join(permissions, ",")+`]}`)
}

func entry(t testing.TB, m *manifest.Manifest) Entry {
	t.Helper()
	e, err := EntryOf(&spec.Spec{Name: "bm25", Digest: one, Manifest: m}, "oci://ghcr.io/acme/bm25:1.2", two, key)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAsks(t *testing.T) {
	m := asking(t, `{"kind":"service","service":"llm"}`, `{"kind":"http","hosts":["API.example.com.","http://[::1]:*"],"methods":["POST"]}`, `{"kind":"http","hosts":["api.example.com:443"]}`,
		`{"kind":"http","hosts":"from_grant"}`, `{"kind":"files","guest":"/docs"}`, `{"kind":"files","guest":"/a\nservice llm","mode":"rw"}`, `{"kind":"kv","quota":"2048KiB"}`)
	got, err := Asks(m)
	want := []string{
		`files ro /docs`, `files rw "/a\nservice llm"`, "http GET from_grant", "http GET https://api.example.com:443", "http HEAD from_grant", "http HEAD https://api.example.com:443",
		"http POST http://[::1]:*", "http POST https://api.example.com:443", "kv 2MiB", "service llm",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	// The form is a contract: locks and signatures hold this hash.
	if h := Hash([]string{"files ro /docs", "service llm"}); h != "sha256:d7e05d3def4bd3f9ea769f11bb1769f346f775cdab61be13e23217c333a344d8" {
		t.Error(h)
	}
	if got, err := Asks(nil); err != nil || got == nil || len(got) != 0 {
		t.Error(got, err)
	}
}

func TestAsksOfHostileManifests(t *testing.T) {
	hosts := make([]string, 40_000)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("h%d.example.com", i)
	}
	methods := slices.Repeat([]string{"GET"}, 40_000)
	for _, p := range []manifest.Permission{
		{Kind: "http", Hosts: hosts, Methods: methods}, {Kind: "http", Hosts: hosts}, {Kind: "http", Hosts: hosts[:1], Methods: methods}, {Kind: "http", Hosts: hosts[:600]},
	} {
		if _, err := Asks(&manifest.Manifest{Name: "x", Permissions: []manifest.Permission{p}}); !errors.Is(err, ErrTooMany) {
			t.Error(err)
		}
	}
}

func TestDifference(t *testing.T) {
	for _, c := range []struct{ before, after, added, removed string }{
		{"service llm", "service llm", "", ""},
		{"", "service llm", "service llm", ""},
		{"service llm", "", "", "service llm"},
		{"files rw /d", "files ro /d", "", "files rw /d"},
		{"files ro /d", "files rw /d", "files rw /d", ""},
		{"files rw /d", "files ro /d/e", "files ro /d/e", "files rw /d"},
		{"kv 2MiB", "kv 1MiB", "", "kv 2MiB"},
		{"kv 1MiB", "kv 2MiB", "kv 2MiB", ""},
		{"http GET https://*.a.com:443", "http GET https://x.a.com:443", "", "http GET https://*.a.com:443"},
		{"http GET https://x.a.com:443", "http GET https://*.a.com:443", "http GET https://*.a.com:443", ""},
		{"http GET https://*.a.com:443", "http POST https://x.a.com:443", "http POST https://x.a.com:443", "http GET https://*.a.com:443"},
		{"http GET https://a.com:*", "http GET https://a.com:8443", "", "http GET https://a.com:*"},
		{"http GET https://a.com:443", "http GET http://a.com:443", "http GET http://a.com:443", "http GET https://a.com:443"},
		{"http GET from_grant", "http GET https://a.com:443", "http GET https://a.com:443", "http GET from_grant"},
		{"http GET https://a.com:443", "http GET from_grant", "http GET from_grant", "http GET https://a.com:443"},
		{"x", "http GET ???", "http GET ???", "x"},
	} {
		split := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == ';' }) }
		added, removed := Difference(split(c.before), split(c.after))
		if strings.Join(added, ";") != c.added || strings.Join(removed, ";") != c.removed {
			t.Errorf("%q to %q: %q, %q", c.before, c.after, added, removed)
		}
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, Name)
	b := entry(t, asking(t, `{"kind":"http","hosts":["a.com"]}`))
	a := Entry{Name: "Foreign.1@1.0", Module: two, PermissionsHash: Hash(nil)}
	if err := Edit(t.Context(), path, func(f *File) error { f.Set(b); f.Set(a); return nil }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	want := "# Which plugins belong to anchor.yaml. \"anchor-host plugin\" writes this file; keep both together.\n" + `version: 1
plugins:
  - name: Foreign.1@1.0
    module: ` + two + `
    permissions_hash: ` + Hash(nil) + `
  - name: bm25
    reference: oci://ghcr.io/acme/bm25:1.2
    version: 1.2.3
    manifest: ` + two + `
    module: ` + one + `
    signer: C752394A98B8BDD0
    permissions_hash: ` + b.PermissionsHash + `
    permissions:
      - http GET https://a.com:443
      - http HEAD https://a.com:443
    operations: [filter]
`
	if err != nil || string(text) != want {
		t.Errorf("%v:\n%s\nwant\n%s", err, text, want)
	}
	f, err := Read(path)
	if err != nil || !reflect.DeepEqual(*f.Find("bm25"), b) || f.Find("none") != nil {
		t.Errorf("%+v, %v", f, err)
	}
	// What fails changes nothing, and leaves nothing.
	if err := Edit(t.Context(), path, func(f *File) error { f.Remove("bm25"); return fs.ErrClosed }); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
	if err := Edit(t.Context(), path, func(f *File) error { f.Set(Entry{Name: "a/b"}); return nil }); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	again, _ := os.ReadFile(path)
	files, _ := os.ReadDir(dir)
	if string(again) != want || len(files) != 2 {
		t.Errorf("%s, %v", again, files)
	}
	if err := Edit(t.Context(), path, func(f *File) error {
		if !f.Remove("bm25") || f.Remove("bm25") {
			t.Error("removed")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// Who cannot have the file in time is told who has it.
func TestEditWhileHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := Edit(t.Context(), path, func(*File) error {
		return Edit(ctx, path, func(*File) error { return nil })
	})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), ".anchor.lock.held") {
		t.Error(err)
	}
}

// Many editors at once lose nothing, and a reader never sees half a file.
func TestEditTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			err := Edit(t.Context(), path, func(f *File) error {
				f.Set(Entry{Name: fmt.Sprintf("p%d", i), Module: one, PermissionsHash: Hash(nil)})
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			if _, err := Read(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if f, err := Read(path); err != nil || len(f.Plugins) != 8 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestWrongFiles(t *testing.T) {
	plugin := func(lines string) string { return "version: 1\nplugins:\n  - name: a\n" + lines }
	module, hash := "    module: "+one+"\n", "    permissions_hash: "+Hash(nil)+"\n"
	for _, c := range []struct{ text, want string }{
		{"version: 2\nfuture: x\n", "anchor.lock:1:10: version: is 2, this anchor-host reads version 1 (use the anchor-host that wrote"},
		{"version: 0\n", "version: is 0"},
		{"plugins: []\n", `missing key "version"`},
		{"", `missing key "version"`},
		{"version: 1\nplugin: []\n", `anchor.lock:2:1: plugin: unknown key (did you mean "plugins"?)`},
		{"version: 1\nversion: 1\n", "duplicate key"},
		{plugin(""), `plugins[0]: missing key "module"`},
		{plugin(module), `missing key "permissions_hash"`},
		{plugin(module + hash + "    sha: x\n"), "unknown key"},
		{plugin(module + hash + "  - name: a\n" + module + hash), `anchor.lock:6:11: plugins[1].name: "a" is also the name of plugins[0]`},
		{plugin("    module: sha256:00\n" + hash), "anchor.lock:4:13: plugins[0].module: want sha256: and 64"},
		{plugin("    module: " + strings.ToUpper(one) + "\n" + hash), "plugins[0].module: want"},
		{plugin(module + hash + "    manifest: " + one + "\n"), "reference and manifest belong together"},
		{plugin(module + hash + "    reference: oci://ghcr.io/a/b\n"), "reference and manifest belong together"},
		{plugin(module + hash + "    manifest: " + one + "\n    reference: https://x/y\n"), "plugins[0].reference: want one such as oci://"},
		{plugin(module + hash + "    manifest: " + one + "\n    reference: oci://ghcr.io/../x\n"), "plugins[0].reference: want"},
		{plugin(module + hash + "    signer: me\n"), "plugins[0].signer: want the id of a key"},
		{plugin(module + hash + "    version: new\n"), "plugins[0].version: "},
		{plugin(module + hash + "    permissions: [service llm]\n"), "permissions_hash: is not that of permissions"},
		{plugin(module + hash + "    operations: [filtr]\n"), `did you mean "filter"?`},
		{strings.Replace(plugin(module+hash), "name: a", "name: ../a", 1), "plugins[0].name: want a name"},
		{strings.Replace(plugin(module+hash), "name: a", "name: .a", 1), "plugins[0].name: want a name"},
		{strings.Replace(plugin(module+hash), "name: a", `name: "a\u001b"`, 1), "plugins[0].name: want a name"},
		{"version: 1\nplugins:\n" + strings.Repeat("  - {name: a, module: x, permissions_hash: y}\n", MaxPlugins+1), "has 1001 plugins"},
		{strings.Repeat("#", maxFile+1), "larger than 4 MiB"},
		{"a: &a [x]\nb: [*a, *a", "not valid YAML"},
		{"version: 1\nplugins: &a\n  - *a\n", "anchor.lock"},
		{"version: 1\na: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\n" +
			"d: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nplugins: [*e, *e, *e, *e, *e, *e, *e, *e]\n", "anchor.lock"},
	} {
		_, err := Parse(Name, []byte(c.text))
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.200s:\n%v\nwant %s", c.text, err, c.want)
		}
	}
	// Git on Windows may write the file with other ends of lines.
	crlf := strings.ReplaceAll(plugin(module+hash), "\n", "\r\n")
	if f, err := Parse(Name, []byte(crlf)); err != nil || len(f.Plugins) != 1 || f.Plugins[0].Name != "a" {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := Read(t.TempDir()); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), Name)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestGuard(t *testing.T) {
	llm := `{"kind":"service","service":"llm"}`
	locked := entry(t, asking(t, llm))
	k, err := trust.Generate()
	if err != nil {
		t.Fatal(err)
	}
	signed := locked
	signed.Signer = k.Public().ID
	publishers := map[string][]trust.PublicKey{"ghcr.io/acme/*": {k.Public()}}
	is := func(digest string, m *manifest.Manifest) *spec.Spec {
		return &spec.Spec{Name: "bm25", Digest: digest, Manifest: m}
	}
	for _, c := range []struct {
		name   string
		locked []Entry
		spec   *spec.Spec
		policy *trust.Policy
		kind   Kind // of the error, "" for none
		says   string
		cause  error
		note   bool
	}{
		{name: "as locked", locked: []Entry{locked}, spec: is(one, asking(t, llm))},
		{name: "asks for less", locked: []Entry{locked}, spec: is(one, asking(t))},
		{name: "changed", locked: []Entry{locked}, spec: is(two, asking(t, llm)), kind: Changed, says: "anchor-host plugin approve bm25"},
		{name: "asks for more", locked: []Entry{locked}, spec: is(one, asking(t, llm, `{"kind":"kv","quota":"1MiB"}`)), kind: AsksMore, says: "kv 1MiB"},
		{name: "not locked", locked: []Entry{}, spec: is(one, asking(t)), note: true},
		{name: "no lock", spec: is(one, asking(t))},
		{name: "a foreign module", spec: is(one, nil)},
		{name: "not locked, digest", spec: is(one, asking(t)), policy: &trust.Policy{Require: trust.RequireDigest}, kind: NotLocked, says: "trust.require is digest"},
		{name: "not locked, signed", spec: is(one, asking(t)), policy: &trust.Policy{Require: trust.RequireSigned}, kind: NotLocked, says: "plugin install"},
		{name: "locked, digest", locked: []Entry{locked}, spec: is(one, asking(t, llm)), policy: &trust.Policy{Require: trust.RequireDigest}},
		{name: "signed", locked: []Entry{signed}, spec: is(one, asking(t, llm)), policy: &trust.Policy{Require: trust.RequireSigned, Publishers: publishers}},
		{name: "signed with another key", locked: []Entry{locked}, spec: is(one, asking(t, llm)), policy: &trust.Policy{Require: trust.RequireSigned, Publishers: publishers}, kind: Refused, cause: trust.ErrKey},
		{name: "revoked key", locked: []Entry{signed}, spec: is(one, asking(t, llm)), policy: &trust.Policy{RevokedKeys: []string{k.Public().ID}}, kind: Refused, cause: trust.ErrRevoked},
		{name: "revoked module", spec: is(one, asking(t, llm)), policy: &trust.Policy{RevokedDigests: []string{one}}, kind: Refused, cause: trust.ErrRevoked},
		{name: "revoked artifact", locked: []Entry{signed}, spec: is(one, asking(t, llm)), policy: &trust.Policy{RevokedDigests: []string{two}}, kind: Refused, cause: trust.ErrRevoked},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &Guard{Path: filepath.Join(t.TempDir(), Name), Policy: c.policy}
			if c.locked != nil {
				if err := Edit(t.Context(), g.Path, func(f *File) error { f.Plugins = c.locked; return nil }); err != nil {
					t.Fatal(err)
				}
			}
			list := []spec.Entry{{Name: "bm25", Spec: c.spec}, {Name: "broken", Err: fs.ErrClosed}}
			notes, err := g.Hold(list)
			if err != nil || len(notes) > 0 != c.note || !errors.Is(list[1].Err, fs.ErrClosed) {
				t.Fatal(notes, err, list[1].Err)
			}
			var d *Drift
			errors.As(list[0].Err, &d)
			if c.kind == "" {
				if list[0].Err != nil || list[0].Spec == nil {
					t.Fatal(list[0].Err)
				}
				return
			}
			if d == nil || d.Kind != c.kind || !errors.Is(d, ErrDrift) || c.cause != nil && !errors.Is(d, c.cause) || !strings.Contains(d.Error(), c.says) || list[0].Spec != nil {
				t.Errorf("%+v, %v", d, list[0].Err)
			}
		})
	}
}

// A lock that cannot be read stops every plugin.
func TestGuardWithoutAValidLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	if err := os.WriteFile(path, []byte("version: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Guard{Path: path}).Hold([]spec.Entry{{Name: "a", Spec: &spec.Spec{}}}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	var none *Guard
	if notes, err := none.Hold([]spec.Entry{{Name: "a", Spec: &spec.Spec{}}}); notes != nil || err != nil {
		t.Error(notes, err)
	}
}

func TestCheck(t *testing.T) {
	f := &File{Version: 1, Plugins: []Entry{{Name: "gone", Module: one}, {Name: "bm25", Module: one}}}
	var got []string
	for _, d := range f.Check([]spec.Entry{{Name: "bm25", Spec: &spec.Spec{Digest: two}}, {Name: "new", Spec: &spec.Spec{Digest: one}}, {Name: "bad", Err: fs.ErrClosed}}, nil) {
		got = append(got, fmt.Sprint(d.Plugin, " ", d.Kind, " ", d.Allowed))
	}
	if want := []string{"bm25 changed false", "gone missing false", "new not_locked true"}; !slices.Equal(got, want) {
		t.Error(got)
	}
}

func TestPlan(t *testing.T) {
	kv := `{"kind":"kv","quota":"1MiB"}`
	old := entry(t, asking(t, kv))
	f := &File{Version: 1, Plugins: []Entry{old}}
	update := func(change func(*Entry), permissions ...string) Entry {
		e := entry(t, asking(t, permissions...))
		e.Module, e.Version = two, "1.3.0"
		change(&e)
		return e
	}
	none := func(*Entry) {}
	for _, c := range []struct {
		name   string
		update Entry
		action Action
		says   string
	}{
		{"the same", old, Keep, ""},
		{"another name", update(func(e *Entry) { e.Name = "other" }, kv), Add, ""},
		{"a new version", update(none, kv), Replace, ""},
		{"asks for less", update(none), Replace, ""},
		{"asks for more", update(none, kv, `{"kind":"service","service":"llm"}`), Wait, "asks for more: service llm"},
		{"another key", update(func(e *Entry) { e.Signer = "0000000000000001" }, kv), Replace, ""},
		{"not signed any more", update(func(e *Entry) { e.Signer = "" }, kv), Wait, "is not signed, while 1.2.3 is signed with the key " + key},
	} {
		d := f.Plan(c.update)
		if d.Action != c.action || !strings.Contains(strings.Join(d.Reasons, ";"), c.says) || (len(d.Reasons) > 0) != (c.says != "") {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
	if len(f.Plugins) != 1 || !reflect.DeepEqual(f.Plugins[0], old) {
		t.Error("Plan changed the file")
	}
}

// A lock that was edited by hand is not kept as it is, although the module is the locked one.
func TestPlanOfAnEditedLock(t *testing.T) {
	update := entry(t, asking(t, `{"kind":"kv","quota":"1MiB"}`))
	more := []string{"kv 1MiB", "service llm"}
	for _, c := range []struct {
		name   string
		edit   func(*Entry)
		action Action
	}{
		{"nothing", func(*Entry) {}, Keep},
		{"a lower version", func(e *Entry) { e.Version = "1.0.0" }, Replace},
		{"a higher version", func(e *Entry) { e.Version = "9.9.9" }, Replace},
		{"no version", func(e *Entry) { e.Version = "" }, Replace},
		{"more permissions", func(e *Entry) { e.Permissions, e.PermissionsHash = more, Hash(more) }, Replace},
		{"fewer permissions", func(e *Entry) { e.Permissions, e.PermissionsHash = nil, Hash(nil) }, Wait},
		{"a wider permission", func(e *Entry) { e.Permissions = []string{"kv 2MiB"}; e.PermissionsHash = Hash(e.Permissions) }, Replace},
		{"other operations", func(e *Entry) { e.Operations = []string{"rerank"} }, Replace},
		{"no operations", func(e *Entry) { e.Operations = nil }, Replace},
	} {
		old := update
		c.edit(&old)
		f := &File{Version: Version, Plugins: []Entry{old}}
		if d := f.Plan(update); d.Action != c.action {
			t.Errorf("%s: %+v", c.name, d)
		}
		if f.Set(update); f.Plan(update).Action != Keep {
			t.Errorf("%s: is not kept after it was mended", c.name)
		}
	}
}

func TestCompare(t *testing.T) {
	base := `{"abi":1,"name":"bm25","version":"1.0.0","operations":{"filter":{"writes":[]},"rerank":{}},"settings":{"type":"object","properties":{"k":{"type":"number"}}},"permissions":[{"kind":"kv","quota":"1MiB","reason":"r"}]}`
	for _, c := range []struct {
		old, new string
		level    Level
		reason   string
	}{
		{"", "", Patch, ""},
		{`"version":"1.0.0"`, `"version":"1.0.1","description":"d"`, Patch, ""},
		{`"name":"bm25"`, `"name":"bm26"`, Major, "name"},
		{`"filter":{"writes":[]},`, ``, Major, "major: operation less: filter"},
		{`"rerank":{}`, `"rerank":{},"retrieve":{}`, Minor, "minor: operation more: retrieve"},
		{`"kind":"kv","quota":"1MiB"`, `"kind":"kv","quota":"2MiB"`, Major, "major: permission more: kv 2MiB"},
		{`"kind":"kv","quota":"1MiB"`, `"kind":"kv","quota":"1KiB"`, Patch, ""},
		{`"reason":"r"`, `"reason":"another"`, Patch, ""},
		{`"k":{"type":"number"}`, `"k":{"type":"number"},"b":{"type":"number"}`, Minor, `minor: setting more: "b"`},
		{`"k":{"type":"number"}`, `"b":{"type":"number"}`, Major, `major: setting less: "k"`},
		{`"properties"`, `"required":["k"],"properties"`, Major, `major: setting that is now required: "k"`},
		{`"k":{"type":"number"}`, `"k":{"type":"string"}`, Minor, "minor: settings changed"},
		{`"filter":{"writes":[]}`, `"filter":{"writes":["keep"]}`, Minor, "filter may also change items by keep"},
	} {
		changed := strings.Replace(base, c.old, c.new, 1)
		got, err := Compare(parsed(t, base), parsed(t, changed))
		if err != nil || got.Level != c.level || !strings.Contains(strings.Join(got.Reasons, "\n"), c.reason) || (len(got.Reasons) == 0) != (c.reason == "") {
			t.Errorf("%s: %+v, %v", c.new, got, err)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		level         Level
		before, after string
		want          string // "" for no error
	}{
		{Patch, "1.2.3", "1.2.4", ""}, {Patch, "1.2.3", "1.2.3", "1.2.4"}, {Patch, "1.2.3", "1.2.2", "1.2.4"}, {Patch, "1.2.3", "1.2.3+build", "1.2.4"}, {Patch, "1.2.3", "1.2.3-rc.1", "1.2.4"},
		{Minor, "1.2.3", "1.2.4", "1.3.0"}, {Minor, "1.2.3", "1.3.0", ""}, {Minor, "1.2.3", "2.0.0", ""}, {Minor, "0.2.3", "0.2.4", ""},
		{Major, "1.2.3", "1.3.0", "2.0.0"}, {Major, "1.2.3", "2.0.0-rc.1", ""}, {Major, "0.2.3", "0.2.4", "0.3.0"}, {Major, "0.2.3", "0.3.0", ""}, {Major, "9.0.0", "10.0.0", ""},
		{Major, "2.0.0-rc.1", "2.0.0", ""}, {Major, "2.0.0-rc.2", "2.0.0-rc.10", ""}, {Major, "2.0.0-rc.10", "2.0.0-rc.9", "2.0.0"}, {Patch, "2.0.0-1", "2.0.0-a", ""}, {Patch, "2.0.0-a", "2.0.0-a.1", ""},
		{Patch, "1.2", "1.2.3", "three numbers"}, {Patch, "1.2.3", "x", "three numbers"}, {Patch, "1.2.99999999999999999999", "2.0.0", "three numbers"},
	} {
		err := Comparison{Level: c.level, Reasons: []string{"r"}}.Check(c.before, c.after)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s from %s to %s: %v, want %q", c.level, c.before, c.after, err, c.want)
		}
	}
}

// TestHeavy reads files of small values in great numbers: what is refused costs next to nothing.
func TestHeavy(t *testing.T) {
	for _, each := range []string{"{},", "[],", ",", "- - - -\n", "? ", "a: 1\n", "- a\n", "- {name: a}\n"} {
		data := []byte("version: 1\nplugins:\n" + strings.Repeat(each, maxFile/len(each)-30))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse("anchor.lock", data)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "too many values") || n > 1<<20 {
			t.Errorf("%q: took %d bytes, %v", each, n, err)
		}
	}
	// As much as there may be.
	var b strings.Builder
	b.WriteString("version: 1\nplugins:\n")
	for i := range MaxPlugins {
		var asks []string
		for j := range 75 {
			asks = append(asks, fmt.Sprintf("http GET https://a%02d.example:443", j))
		}
		fmt.Fprintf(&b, "- name: p%d\n  module: sha256:%064d\n  permissions_hash: %s\n  permissions:\n  - %s\n", i, i, Hash(asks), strings.Join(asks, "\n  - "))
	}
	if f, err := Parse("anchor.lock", []byte(b.String())); err != nil || len(f.Plugins) != MaxPlugins {
		t.Errorf("%.200v", err)
	}
}

func FuzzParse(f *testing.F) {
	file := &File{Version: 1, Plugins: []Entry{entry(f, asking(f, `{"kind":"http","hosts":["a.com"]}`)), {Name: "x", Module: one, PermissionsHash: Hash(nil)}}}
	text, err := file.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("version: 2\n"))
	f.Add([]byte("version: 1\nplugins: [{name: a@1, permissions: [a, b]}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := Parse(Name, data)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Error(err)
			}
			return
		}
		out, err := read.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(Name, out)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, out)
		}
		if second, _ := again.encode(); string(second) != string(out) {
			t.Errorf("%s\nbecomes\n%s", out, second)
		}
	})
}

// Whatever two manifests ask for: nothing is added to what is the same, and what is added is asked for.
func FuzzDifference(f *testing.F) {
	f.Add("http GET https://a.com:443\nkv 1MiB", "files ro /x\nhttp GET *")
	f.Fuzz(func(t *testing.T, before, after string) {
		a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
		if added, removed := Difference(a, a); added != nil || removed != nil {
			t.Errorf("%q, %q of %q", added, removed, a)
		}
		added, _ := Difference(a, b)
		for _, line := range added {
			if slices.Contains(a, line) || !slices.Contains(b, line) {
				t.Errorf("%q of %q to %q", line, a, b)
			}
		}
	})
}
