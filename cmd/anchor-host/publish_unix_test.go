//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testbuild"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/trust"
)

// testRegistry keeps one repository in memory. It has no API for attachments.
type testRegistry struct {
	mu    sync.Mutex
	parts map[string][]byte // blobs and manifests, by digest and by tag
	types map[string]string
	tags  []string
	// before, if not nil, sees a request before it is answered.
	before func(*http.Request)
}

// goCache is where the go command keeps what it built, also for tests with a cache folder of their own.
var goCache = sync.OnceValues(func() (string, error) {
	dir, err := exec.Command("go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(dir)), err
})

// newRegistry starts a registry and returns it with the reference of its repository. The cache of the
// command is a folder of the test.
func newRegistry(t *testing.T) (*testRegistry, string) {
	t.Helper()
	dir, err := goCache()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", dir)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	r := &testRegistry{parts: map[string][]byte{}, types: map[string]string{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, "oci://" + strings.TrimPrefix(server.URL, "http://") + "/acme/p"
}

func (r *testRegistry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	before := r.before
	r.mu.Unlock()
	if before != nil {
		before(q)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	kind, name, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/v2/acme/p/"), "/")
	sum := func(b []byte) string { s := sha256.Sum256(b); return "sha256:" + hex.EncodeToString(s[:]) }
	switch {
	case q.Method == http.MethodPost:
		w.Header().Set("Location", q.URL.Path+"1")
		w.WriteHeader(http.StatusAccepted)
	case q.Method == http.MethodPut:
		text, err := io.ReadAll(q.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.parts[sum(text)], r.types[sum(text)] = text, q.Header.Get("Content-Type")
		if kind == "manifests" && !strings.HasPrefix(name, "sha256:") {
			r.parts[name], r.types[name] = text, q.Header.Get("Content-Type")
			if !slices.Contains(r.tags, name) {
				r.tags = append(r.tags, name)
			}
		}
		w.Header().Set("Docker-Content-Digest", sum(text))
		w.WriteHeader(http.StatusCreated)
	case kind == "tags":
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "acme/p", "tags": r.tags})
	case r.parts[name] != nil:
		w.Header().Set("Content-Type", r.types[name])
		w.Header().Set("Docker-Content-Digest", sum(r.parts[name]))
		w.Header().Set("Content-Length", fmt.Sprint(len(r.parts[name])))
		_, _ = w.Write(r.parts[name])
	default:
		http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`, http.StatusNotFound)
	}
}

// quiet makes a plugin that keeps to the contract, without a toolchain. edit changes its manifest.
func quiet(t *testing.T, edit func(manifest string) string, texts spec.Texts) string {
	t.Helper()
	return pluginOf(t, "no-change", edit, texts)
}

// pluginOf makes a plugin of a fixture.
func pluginOf(t *testing.T, fixture string, edit func(manifest string) string, texts spec.Texts) string {
	t.Helper()
	dir := filepath.Join(testdataDir, "../../../testdata/wasm", fixture)
	wasm, err := os.ReadFile(filepath.Join(dir, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if wasm, err = spec.Embed(wasm, []byte(edit(string(text)))); err == nil {
		wasm, err = spec.EmbedTexts(wasm, texts)
	}
	file := filepath.Join(t.TempDir(), fixture+".wasm")
	if err == nil {
		err = os.WriteFile(file, wasm, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// version returns an edit that states another version, and a permission if asked.
func version(v, more string) func(string) string {
	return func(m string) string { return strings.Replace(m, "0.1.0", v, 1) + more }
}

const oneMore = "\npermissions:\n  - {kind: service, service: llm, reason: to ask}\n"

var readme = spec.Texts{Readme: "# Keep first\n"}

// publishReport is what plugin publish -o json prints.
type publishReport struct {
	Reference, Digest, Signer string
	Published                 bool
	Attached                  []string
	Checks                    []struct{ Check, Verdict, Detail string }
}

// published runs plugin publish and returns its report with the verdicts by check.
func published(t *testing.T, want int, args ...string) (r publishReport, verdicts map[string]string) {
	t.Helper()
	code, stdout, stderr := run(t, "", append([]string{"plugin", "publish", "-o", "json"}, args...)...)
	if code != want {
		t.Fatalf("code %d, want %d: %s%s", code, want, stdout, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	verdicts = map[string]string{}
	for _, c := range r.Checks {
		verdicts[c.Check] = c.Verdict + ": " + c.Detail
	}
	return r, verdicts
}

func newKey(t *testing.T, password string) (file string, public trust.PublicKey) {
	t.Helper()
	key, err := trust.Generate()
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.File(password)
	file = filepath.Join(t.TempDir(), "key")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, key.Public()
}

// A plugin is checked, pushed and signed, and the signature counts for an operator who trusts the key.
func TestPublish(t *testing.T) {
	_, ref := newRegistry(t)
	key, public := newKey(t, "")
	file := quiet(t, version("1.0.0", ""), readme)
	if r, _ := published(t, codeOK, "--dry-run", file, ref); r.Published || r.Reference != ref+":1.0.0" {
		t.Errorf("dry run: %+v", r)
	}
	sbom := filepath.Join(t.TempDir(), "sbom.json")
	if err := os.WriteFile(sbom, []byte(`{"spdxVersion":"SPDX-2.3"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"empty": "", "random": "\x00\x01", "other": `{"a":1}`} {
		bad := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := run(t, "", "plugin", "publish", "--dry-run", "--sbom", bad, file, ref); code != codeInvalid || !strings.Contains(stderr, "flag --sbom: "+bad) {
			t.Errorf("%s: code %d, %s", name, code, stderr)
		}
	}
	if code, _, stderr := run(t, "", "plugin", "publish", "--key", key, "--sbom", sbom+"x", file, ref); code != codeNotFound || !strings.Contains(stderr, "flag --sbom: ") {
		t.Errorf("no such list: code %d, %s", code, stderr)
	}
	cases := t.TempDir()
	if err := os.WriteFile(filepath.Join(cases, "case.json"), []byte(`{"name":"of a customer","operation":"filter","items":["a"],"expect":{"no_change":true}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := published(t, codeOK, "--key", key, "--sbom", sbom, "--cases", cases, file, ref)
	if !r.Published || r.Signer != public.ID || r.Reference != ref+":1.0.0@"+r.Digest {
		t.Errorf("%+v", r)
	}
	client, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	at, err := registry.ParseReference(r.Reference)
	if err != nil {
		t.Fatal(err)
	}
	attached, err := client.Referrers(t.Context(), at, registry.TypeSignature)
	if err != nil || len(attached) != 1 {
		t.Fatalf("%d signatures, %v", len(attached), err)
	}
	policy := &trust.Policy{Require: trust.RequireSigned, Publishers: map[string][]trust.PublicKey{at.Name(): {public}}}
	if _, err := policy.Verify(at.String(), r.Digest, trust.Signatures{Envelopes: [][]byte{attached[0].Data}}); err != nil {
		t.Error(err)
	}
	// The same again changes nothing. Another module under the same version is refused.
	before, err := client.Referrers(t.Context(), at, "")
	if err != nil || len(before) != 3 || !slices.Equal(r.Attached, []string{registry.TypeSignature, registry.TypeSBOM, registry.TypeConformance}) {
		t.Errorf("%d attachments, %q, %v", len(before), r.Attached, err)
	}
	for _, a := range before {
		for text, want := range map[string]bool{`"failed":0`: true, `"own/1"`: true, "customer": false, "time_ms": false, filepath.Dir(file): false} {
			if a.Type == registry.TypeConformance && strings.Contains(string(a.Data), text) != want {
				t.Errorf("%q in the report is not %t: %s", text, want, a.Data)
			}
		}
	}
	defer func() {
		if after, err := client.Referrers(t.Context(), at, ""); err != nil || len(after) != len(before) {
			t.Errorf("%d attachments after the second time, %v", len(after), err)
		}
	}()
	if r, verdicts := published(t, codeOK, "--key", key, "--sbom", sbom, "--cases", cases, file, ref); !r.Published || !strings.Contains(verdicts["tag"], "this artifact already") {
		t.Errorf("again: %+v", r)
	}
	if _, out, _ := run(t, "", "plugin", "publish", "--key", key, "--sbom", sbom, "--cases", cases, file, ref); !strings.Contains(out, "\nwas there already: "+ref) || strings.Contains(out, "published") {
		t.Errorf("again, as text: %s", out)
	}
	other := quiet(t, version("1.0.0", "\ndescription: another\n"), readme)
	if strings.Count(string(bytesOf(t, other)), "description") > 1 {
		other = quiet(t, version("1.0.0", "\nhomepage: https://example.com\n"), readme)
	}
	if r, verdicts := published(t, codeFailure, "--unsigned", other, ref); r.Published || !strings.HasPrefix(verdicts["tag"], "fail: 1.0.0 names another artifact already") {
		t.Errorf("another: %v", verdicts)
	}
}

func bytesOf(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A permission more is a major change, whatever was pushed in between; all findings come at once.
func TestPublishFindings(t *testing.T) {
	r, ref := newRegistry(t)
	published(t, codeOK, "--unsigned", quiet(t, version("1.2.0", ""), readme), ref)
	for _, c := range []struct {
		name   string
		file   string
		args   []string
		checks map[string]string
	}{
		{"permission", quiet(t, version("1.3.0", oneMore), spec.Texts{}), nil, map[string]string{
			"version": "want at least 2.0.0", "readme": "the module holds no README (write README.md beside plugin.yaml"}},
		{"build metadata", quiet(t, version("1.3.0+linux", ""), readme), nil, map[string]string{"manifest": "leave it out", "tag": ""}},
		{"tag", quiet(t, version("1.3.0", ""), readme), []string{ref + ":1.4.0"}, map[string]string{"tag": "the tag is 1.4.0, the version in the manifest 1.3.0"}},
		{"a tag that moves", quiet(t, version("1.3.0", ""), readme), []string{ref + ":1.3"}, map[string]string{"tag": ref + ":1.3 --move --key KEY)"}},
		{"no key", quiet(t, version("1.3.0", ""), readme), []string{ref, "--key", "/nowhere"}, map[string]string{"key": "/nowhere"}},
		{"no module", filepath.Join(testdataDir, "../../../testdata/wasm/empty/plugin.wasm"), nil, map[string]string{"manifest": "", "readme": "see manifest"}},
	} {
		args := append([]string{"--dry-run", c.file}, c.args...)
		if len(c.args) == 0 {
			args = append(args, ref)
		}
		_, verdicts := published(t, codeFailure, args...)
		for check, want := range c.checks {
			if !strings.Contains(verdicts[check], want) || verdicts[check] == "" || strings.HasPrefix(verdicts[check], "pass") {
				t.Errorf("%s: %s: %s, want %q", c.name, check, verdicts[check], want)
			}
		}
	}
	// The other tag lists the attachments.
	if len(r.tags) != 2 || r.tags[0] != "1.2.0" || !strings.HasPrefix(r.tags[1], "sha256-") {
		t.Errorf("the registry has %v", r.tags)
	}
	// The highest version below counts: a repair of an old line stays possible.
	published(t, codeOK, "--unsigned", quiet(t, version("2.0.0", oneMore), readme), ref)
	if _, verdicts := published(t, codeOK, "--dry-run", quiet(t, version("1.2.1", ""), readme), ref); !strings.Contains(verdicts["version"], "after 1.2.0") {
		t.Errorf("%v", verdicts)
	}
}

// The password of a key comes from the environment.
func TestPublishPassword(t *testing.T) {
	if testing.Short() {
		t.Skip("to decrypt a key takes seconds")
	}
	key, _ := newKey(t, "secret")
	file := quiet(t, version("1.0.0", ""), readme)
	if _, verdicts := published(t, codeFailure, "--dry-run", "--key", key, file); !strings.Contains(verdicts["key"], "ANCHOR_HOST_KEY_PASSWORD") {
		t.Errorf("%v", verdicts)
	}
	t.Setenv("ANCHOR_HOST_KEY_PASSWORD", "secret")
	published(t, codeOK, "--dry-run", "--key", key, file)
}

func TestPublishUsage(t *testing.T) {
	for _, args := range [][]string{{"p.wasm"}, {"p.wasm", "oci://localhost:1/a"}, {"p.wasm", "oci://localhost:1/a", "--key", "k", "--unsigned"}, {"--dry-run", "-o", "yaml", "p.wasm"}} {
		if code, _, stderr := run(t, "", append([]string{"plugin", "publish"}, args...)...); code != codeUsage {
			t.Errorf("%v: code %d, %s", args, code, stderr)
		}
	}
}

// The workflow of a new project is YAML, and its steps run: they build, test, check, sign and push.
func TestWorkflow(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("the steps of workflows are for bash: install it")
	}
	r, ref := newRegistry(t)
	keyFile, public := newKey(t, "")
	t.Chdir(t.TempDir())
	if code, _, stderr := run(t, "", "plugin", "new", "p"); code != codeOK {
		t.Fatal(stderr)
	}
	var workflow struct {
		On   map[string]any
		Jobs map[string]struct {
			If     string
			RunsOn string `yaml:"runs-on"`
			Steps  []struct {
				Name, Uses, Run string
				With            map[string]string
				Env             map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(bytesOf(t, "p/.github/workflows/plugin.yaml"), &workflow); err != nil {
		t.Fatal(err)
	}
	job, publish := workflow.Jobs["plugin"], workflow.Jobs["publish"]
	if len(workflow.On) != 2 || job.RunsOn == "" || publish.RunsOn == "" || publish.If != "startsWith(github.ref, 'refs/tags/v')" {
		t.Fatalf("%+v", workflow)
	}
	t.Setenv("ANCHOR_HOST_CACHE_DIR", testbuild.CacheDir(t))
	t.Setenv("RUNNER_TEMP", t.TempDir())
	t.Setenv("SIGNING_KEY", string(bytesOf(t, keyFile)))
	t.Setenv("REFERENCE", ref)
	ran := 0
	for _, step := range append(job.Steps, publish.Steps...) {
		if step.Run == "" && step.Uses == "" {
			t.Errorf("step %q does nothing", step.Name)
		}
		if !strings.Contains(step.Run, "anchor-host plugin") { // those that install, or log in elsewhere
			continue
		}
		script := fmt.Sprintf("set -eo pipefail\nanchor-host() { %q \"$@\"; }\n%s", testbuild.Command(t), step.Run)
		of := func(tag string) ([]byte, error) {
			cmd := exec.CommandContext(t.Context(), bash, "-c", script)
			cmd.Dir, cmd.Env = "p", append(os.Environ(), "GITHUB_REF_NAME="+tag)
			return cmd.CombinedOutput()
		}
		signs := strings.HasPrefix(step.Name, "Sign")
		if signs { // nobody raised the version in plugin.yaml
			if out, err := of("v0.2.0"); err == nil || !bytes.Contains(out, []byte("the tag is 0.2.0, the version in the manifest 0.1.0")) {
				t.Errorf("with another tag: %v\n%s", err, out)
			}
		}
		if out, err := of("v0.1.0"); err != nil {
			t.Fatalf("step %q: %v\n%s", step.Name, err, out)
		} else if signs && !bytes.Contains(out, []byte("signed by "+public.ID)) {
			t.Errorf("step %q: %s", step.Name, out)
		}
		ran++
	}
	if ran != 5 || !slices.Contains(r.tags, "0.1.0") || slices.Contains(r.tags, "0.2.0") {
		t.Errorf("%d steps ran, the registry has %v", ran, r.tags)
	}
}

// A version before a release does not hide what the release has: everything may change between the
// two, but not between two releases.
func TestPublishAfterAPreRelease(t *testing.T) {
	_, ref := newRegistry(t)
	for _, v := range []string{"1.0.0", "1.0.1-rc.1"} {
		published(t, codeOK, "--unsigned", quiet(t, version(v, ""), readme), ref)
	}
	if _, verdicts := published(t, codeFailure, "--dry-run", quiet(t, version("1.0.1", oneMore), readme), ref); !strings.HasPrefix(verdicts["version"], "fail: ") || !strings.Contains(verdicts["version"], "permission more") {
		t.Errorf("a permission more: %v", verdicts)
	}
	published(t, codeOK, "--unsigned", quiet(t, version("2.0.0-rc.1", oneMore), readme), ref)
	published(t, codeOK, "--unsigned", quiet(t, version("2.0.0", oneMore), readme), ref)
}

// Cases that are named and not there are an error, not a test without cases.
func TestCasesThatAreNone(t *testing.T) {
	file, folder := quiet(t, version("1.0.0", ""), readme), t.TempDir()
	for _, cases := range []string{folder, file} {
		for _, args := range [][]string{{"test", file}, {"publish", "--dry-run", file}, {"diff", file, file}} {
			if code, stdout, stderr := run(t, "", append(append([]string{"plugin"}, args...), "--cases", cases)...); code == codeOK || !strings.Contains(stdout+stderr, "holds no *.json") {
				t.Errorf("%v --cases %s: code %d, %s%s", args, cases, code, stdout, stderr)
			}
		}
	}
}

// A key that cannot be written is refused before anything is made, and no key is lost.
func TestKeygenKeepsWhatIsThere(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("ANCHOR_HOST_KEY_PASSWORD", "")
	if code, stdout, stderr := run(t, "", "plugin", "keygen", "--key", "a.key"); code != codeOK || !strings.Contains(stdout, "encrypted  no") {
		t.Fatalf("code %d, %s%s", code, stdout, stderr)
	}
	before := bytesOf(t, "a.key")
	if err := os.WriteFile("b.pub", []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--key", "a.key"}, "a.key: file already exists (give another name"},
		{[]string{"--key", "b.key"}, "b.pub: file already exists (give another name"},
		{[]string{"--key", "no/such.key"}, "no such file or directory (make the folder first)"},
		{[]string{"--key", "c.key", "-o", "xx"}, "flag --output"},
	} {
		code, _, stderr := run(t, "", append([]string{"plugin", "keygen"}, c.args...)...)
		if code == codeOK || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: code %d, %s", c.args, code, stderr)
		}
	}
	left, err := filepath.Glob("*")
	if err != nil || !slices.Equal(left, []string{"a.key", "a.pub", "b.pub"}) || string(bytesOf(t, "a.key")) != string(before) {
		t.Errorf("left %q, %v", left, err)
	}
}
