//go:build unix

package plugincmd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/trust"
)

// publishedDocument is what plugin publish -o json prints.
type publishedDocument struct {
	Reference, Digest, Signer string
	Published                 bool
	Attached                  []string
	Checks                    []struct{ Check, Verdict, Detail string }
}

// published runs plugin publish and returns its report with the verdicts by check.
func published(t *testing.T, want int, args ...string) (r publishedDocument, verdicts map[string]string) {
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

// A plugin is checked, pushed and signed, and the signature counts for an operator who trusts the key.
func TestPublish(t *testing.T) {
	_, ref := clitest.NewRegistry(t)
	key, public := clitest.NewKey(t)
	file := clitest.Quiet(t, "1.0.0", "")
	if r, _ := published(t, cli.CodeOK, "--dry-run", file, ref); r.Published || r.Reference != ref+":1.0.0" {
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
		if code, _, stderr := run(t, "", "plugin", "publish", "--dry-run", "--sbom", bad, file, ref); code != cli.CodeInvalid || !strings.Contains(stderr, "flag --sbom: "+bad) {
			t.Errorf("%s: code %d, %s", name, code, stderr)
		}
	}
	if code, _, stderr := run(t, "", "plugin", "publish", "--key", key, "--sbom", sbom+"x", file, ref); code != cli.CodeNotFound || !strings.Contains(stderr, "flag --sbom: ") {
		t.Errorf("no such list: code %d, %s", code, stderr)
	}
	cases := t.TempDir()
	if err := os.WriteFile(filepath.Join(cases, "case.json"), []byte(`{"name":"of a customer","operation":"filter","items":["a"],"expect":{"no_change":true}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := published(t, cli.CodeOK, "--key", key, "--sbom", sbom, "--cases", cases, file, ref)
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
	if at := slices.IndexFunc(before, func(a registry.Attachment) bool { return a.Type == registry.TypeConformance }); at < 0 {
		t.Errorf("no report of the conformance kit among %d attachments", len(before))
	} else {
		for text, want := range map[string]bool{`"failed":0`: true, `"own/1"`: true, "customer": false, "time_ms": false, filepath.Dir(file): false} {
			if report := string(before[at].Data); strings.Contains(report, text) != want {
				t.Errorf("%q in the report is not %t: %s", text, want, report)
			}
		}
	}
	defer func() {
		if after, err := client.Referrers(t.Context(), at, ""); err != nil || len(after) != len(before) {
			t.Errorf("%d attachments after the second time, %v", len(after), err)
		}
	}()
	if r, verdicts := published(t, cli.CodeOK, "--key", key, "--sbom", sbom, "--cases", cases, file, ref); !r.Published || !strings.Contains(verdicts["tag"], "this artifact already") {
		t.Errorf("again: %+v", r)
	}
	if _, out, _ := run(t, "", "plugin", "publish", "--key", key, "--sbom", sbom, "--cases", cases, file, ref); !strings.Contains(out, "\nwas there already: "+ref) || strings.Contains(out, "published") {
		t.Errorf("again, as text: %s", out)
	}
	other := clitest.Quiet(t, "1.0.0", "\ndescription: another\n")
	if strings.Count(string(clitest.Read(t, other)), "description") > 1 {
		other = clitest.Quiet(t, "1.0.0", "\nhomepage: https://example.com\n")
	}
	if r, verdicts := published(t, cli.CodeFailure, "--unsigned", other, ref); r.Published || !strings.HasPrefix(verdicts["tag"], "fail: 1.0.0 names another artifact already") {
		t.Errorf("another: %v", verdicts)
	}
}

// A permission more is a major change, whatever was pushed in between; all findings come at once.
func TestPublishFindings(t *testing.T) {
	r, ref := clitest.NewRegistry(t)
	published(t, cli.CodeOK, "--unsigned", clitest.Quiet(t, "1.2.0", ""), ref)
	for _, c := range []struct {
		name   string
		file   string
		args   []string
		checks map[string]string
	}{
		{"permission", clitest.Plugin(t, "no-change", clitest.Version("1.3.0", clitest.OneMore), spec.Texts{}), nil, map[string]string{
			"version": "want at least 2.0.0", "readme": "the module holds no README (write README.md beside plugin.yaml"}},
		{"build metadata", clitest.Quiet(t, "1.3.0+linux", ""), nil, map[string]string{"manifest": "leave it out", "tag": ""}},
		{"tag", clitest.Quiet(t, "1.3.0", ""), []string{ref + ":1.4.0"}, map[string]string{"tag": "the tag is 1.4.0, the version in the manifest 1.3.0"}},
		{"a tag that moves", clitest.Quiet(t, "1.3.0", ""), []string{ref + ":1.3"}, map[string]string{"tag": "--move publishes under a tag that moves"}},
		{"no key", clitest.Quiet(t, "1.3.0", ""), []string{ref, "--key", "/nowhere"}, map[string]string{"key": "/nowhere"}},
		{"no module", filepath.Join(clitest.FixtureDir, "empty/plugin.wasm"), nil, map[string]string{"manifest": "", "readme": "see manifest"}},
	} {
		args := append([]string{"--dry-run", c.file}, c.args...)
		if len(c.args) == 0 {
			args = append(args, ref)
		}
		_, verdicts := published(t, cli.CodeFailure, args...)
		for check, want := range c.checks {
			if !strings.Contains(verdicts[check], want) || verdicts[check] == "" || strings.HasPrefix(verdicts[check], "pass") {
				t.Errorf("%s: %s: %s, want %q", c.name, check, verdicts[check], want)
			}
		}
	}
	// The other tag lists the attachments.
	if len(r.Tags()) != 2 || r.Tags()[0] != "1.2.0" || !strings.HasPrefix(r.Tags()[1], "sha256-") {
		t.Errorf("the registry has %v", r.Tags())
	}
	// The highest version below counts: a repair of an old line stays possible.
	published(t, cli.CodeOK, "--unsigned", clitest.Quiet(t, "2.0.0", clitest.OneMore), ref)
	if _, verdicts := published(t, cli.CodeOK, "--dry-run", clitest.Quiet(t, "1.2.1", ""), ref); !strings.Contains(verdicts["version"], "after 1.2.0") {
		t.Errorf("%v", verdicts)
	}
}

// The password of a key comes from the environment. This key says that little work was done to encrypt
// it: to try a password on one of keygen takes seconds, and 1 GiB of memory.
func TestPublishPassword(t *testing.T) {
	const key = "testdata/locked.key"
	file := clitest.Quiet(t, "1.0.0", "")
	if _, verdicts := published(t, cli.CodeFailure, "--dry-run", "--key", key, file); !strings.Contains(verdicts["key"], cli.PasswordVariable) {
		t.Errorf("without a password: %q, want the name of the variable", verdicts["key"])
	}
	t.Setenv(cli.PasswordVariable, "wrong")
	if _, verdicts := published(t, cli.CodeFailure, "--dry-run", "--key", key, file); !strings.Contains(verdicts["key"], "a wrong one") {
		t.Errorf("with a wrong password: %q, want the verdict that it is wrong", verdicts["key"])
	}
	t.Setenv(cli.PasswordVariable, "secret")
	published(t, cli.CodeOK, "--dry-run", "--key", key, file)
}

func TestPublishUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"p.wasm"}, {"p.wasm", "oci://localhost:1/a"}, {"p.wasm", "oci://localhost:1/a", "--key", "k", "--unsigned"}, {"--dry-run", "-o", "yaml", "p.wasm"}} {
		if code, _, stderr := run(t, "", append([]string{"plugin", "publish"}, args...)...); code != cli.CodeUsage {
			t.Errorf("%v: code %d, %s", args, code, stderr)
		}
	}
}

// workflow is what counts of a workflow of GitHub.
type workflow struct {
	On   map[string]any
	Jobs map[string]struct {
		If     string
		RunsOn string `yaml:"runs-on"`
		Steps  []workflowStep
	}
}

type workflowStep struct{ Name, Uses, Run string }

// The workflow of a new project is YAML, and its steps run: they build, test, check, sign and push.
// A test as long as that of the workflow, and a check without a push, is left to make test-thorough.
func TestWorkflow(t *testing.T) {
	r, ref := clitest.NewRegistry(t)
	key, public := clitest.NewKey(t)
	t.Chdir(t.TempDir())
	must(t, "", "plugin", "new", "keep-best") // as TestPluginDev does: the module is compiled once for both
	var w workflow
	if err := yaml.Unmarshal(clitest.Read(t, "keep-best/.github/workflows/plugin.yaml"), &w); err != nil {
		t.Fatal(err)
	}
	job, publish := w.Jobs["plugin"], w.Jobs["publish"]
	if len(w.On) != 2 || job.RunsOn == "" || publish.RunsOn == "" || publish.If != "startsWith(github.ref, 'refs/tags/v')" {
		t.Fatalf("two jobs that run on pushes, the second for tags only, are wanted: %+v", w)
	}
	t.Setenv("ANCHOR_HOST_PLUGINS_CACHE_DIR", testbuild.CacheDir(t))
	t.Setenv("RUNNER_TEMP", t.TempDir())
	t.Setenv("SIGNING_KEY", string(clitest.Read(t, key)))
	t.Setenv("REFERENCE", ref)
	var commands []string
	for _, step := range append(job.Steps, publish.Steps...) {
		if step.Run == "" && step.Uses == "" {
			t.Errorf("step %q does nothing", step.Name)
		}
		if !strings.Contains(step.Run, "anchor-host plugin") { // those that install, or log in elsewhere
			continue
		}
		command := step.dry(t, "v0.2.0")
		commands = append(commands, command)
		slow := strings.HasPrefix(command, "plugin test") || strings.Contains(command, "--dry-run")
		if slow && os.Getenv("ANCHOR_THOROUGH") == "" {
			continue
		}
		if out, err := step.run(t, testbuild.Command(t), "v0.1.0"); err != nil {
			t.Fatalf("step %q: %v\n%s", step.Name, err, out)
		} else if strings.HasPrefix(step.Name, "Sign") && !strings.Contains(out, "signed by "+public.ID) {
			t.Errorf("step %q does not sign with the key %s: %s", step.Name, public.ID, out)
		}
	}
	// The tag is that of git: publish refuses one that is not the version in plugin.yaml.
	want := []string{"plugin build", "plugin test build/keep-best.wasm", "plugin publish --dry-run build/keep-best.wasm", "plugin build",
		"plugin publish build/keep-best.wasm " + ref + ":0.2.0 --key " + os.Getenv("RUNNER_TEMP") + "/signing.key"}
	if !slices.Equal(commands, want) {
		t.Errorf("the steps run %q, want %q", commands, want)
	}
	if tags := r.Tags(); !slices.Contains(tags, "0.1.0") || slices.Contains(tags, "0.2.0") {
		t.Errorf("the registry has %q, want 0.1.0 and not 0.2.0", tags)
	}
}

// dry returns the command line of anchor-host that the step runs for a tag.
func (s workflowStep) dry(t *testing.T, tag string) string {
	t.Helper()
	out, err := s.run(t, "echo", tag)
	if err != nil {
		t.Fatalf("step %q: %v\n%s", s.Name, err, out)
	}
	return strings.TrimSpace(out)
}

// run runs the step in the folder keep-best with another program in the place of anchor-host.
func (s workflowStep) run(t *testing.T, program, tag string) (string, error) {
	t.Helper()
	script := fmt.Sprintf("set -eo pipefail\nanchor-host() { %q \"$@\"; }\n%s", program, s.Run)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir, cmd.Env = "keep-best", append(os.Environ(), "GITHUB_REF_NAME="+tag)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A version before a release does not hide what the release has: everything may change between the
// two, but not between two releases.
func TestPublishAfterAPreRelease(t *testing.T) {
	_, ref := clitest.NewRegistry(t)
	for _, v := range []string{"1.0.0", "1.0.1-rc.1"} {
		published(t, cli.CodeOK, "--unsigned", clitest.Quiet(t, v, ""), ref)
	}
	if _, verdicts := published(t, cli.CodeFailure, "--dry-run", clitest.Quiet(t, "1.0.1", clitest.OneMore), ref); !strings.HasPrefix(verdicts["version"], "fail: ") || !strings.Contains(verdicts["version"], "permission more") {
		t.Errorf("a permission more: %v", verdicts)
	}
	published(t, cli.CodeOK, "--unsigned", clitest.Quiet(t, "2.0.0-rc.1", clitest.OneMore), ref)
	published(t, cli.CodeOK, "--unsigned", clitest.Quiet(t, "2.0.0", clitest.OneMore), ref)
}

// Cases that are named and not there are an error, not a test without cases.
func TestCasesThatAreNone(t *testing.T) {
	t.Parallel()
	file, folder := clitest.Quiet(t, "1.0.0", ""), t.TempDir()
	for _, cases := range []string{folder, file} {
		for _, args := range [][]string{{"test", file}, {"publish", "--dry-run", file}, {"diff", file, file}} {
			if code, stdout, stderr := run(t, "", append(append([]string{"plugin"}, args...), "--cases", cases)...); code == cli.CodeOK || !strings.Contains(stdout+stderr, "holds no *.json") {
				t.Errorf("%v --cases %s: code %d, %s%s", args, cases, code, stdout, stderr)
			}
		}
	}
}
