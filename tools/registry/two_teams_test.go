package registrytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// goCaches are the variables with which a machine of its own uses the caches of Go of this one.
func goCaches(t *testing.T) (env []string) {
	t.Helper()
	for _, name := range []string{"GOMODCACHE", "GOCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env
}

// TestTwoTeams runs two-teams.sh. Its plugin is in Go, so that the script needs no other toolchain.
func TestTwoTeams(t *testing.T) {
	script, err := filepath.Abs("two-teams.sh")
	if err != nil {
		t.Fatal(err)
	}
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	for name, start := range servers() {
		if strings.Contains(name, "without") {
			continue // takes long, and differs in attachments alone
		}
		t.Run(name, func(t *testing.T) {
			s := start(t)
			w := newTeam(t, s)
			c := exec.Command("sh", script, s.host)
			c.Dir = filepath.Join(w.dir, "work")
			if err := os.Mkdir(c.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
			c.Env = append(append(w.env, goCaches(t)...), "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"), "GIT_CEILING_DIRECTORIES="+w.dir)
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// TestWorkflow does what the workflow file of a new plugin does, in a shell and with a registry of this
// machine. Only the steps that prepare a runner are left out.
func TestWorkflow(t *testing.T) {
	s := inProcess(t, true)
	w := newTeam(t, s)
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	w.ok("plugin", "keygen", "--key", "acme.key")
	w.ok("plugin", "new", "keep-best", "--lang", "go")
	text := w.read("keep-best/.github/workflows/plugin.yaml")
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Name, Run string
				Env       map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &workflow); err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{"secrets.SIGNING_KEY": w.read("acme.key"), "secrets.SIGNING_KEY_PASSWORD": ""}
	expression := regexp.MustCompile(`^\$\{\{ (.*) \}\}$`)
	ran := 0
	for _, step := range workflow.Jobs["plugin"].Steps {
		if step.Run == "" || strings.HasPrefix(step.Name, "Install") || strings.HasPrefix(step.Name, "Log in") {
			continue
		}
		c := exec.Command("bash", "-e", "-o", "pipefail", "-c", step.Run)
		c.Dir = filepath.Join(w.dir, "keep-best")
		c.Env = append(append(w.env, goCaches(t)...), "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"), "RUNNER_TEMP="+w.dir, "REFERENCE=oci://"+s.host+"/acme/keep-best", "GITHUB_REF_NAME=v0.1.0")
		for name, value := range step.Env {
			of := expression.FindStringSubmatch(value)
			secret, known := secrets[of[1]]
			if !known {
				t.Fatalf("step %q: %s is %s", step.Name, name, value)
			}
			c.Env = append(c.Env, name+"="+secret)
		}
		if strings.HasPrefix(step.Name, "Sign") { // the version in plugin.yaml was not raised
			wrong := *c
			wrong.Env = append(c.Env, "GITHUB_REF_NAME=v0.2.0")
			if out, err := wrong.CombinedOutput(); err == nil || !strings.Contains(string(out), "the tag is 0.2.0, the version in the manifest 0.1.0") {
				t.Errorf("with another tag: %v\n%s", err, out)
			}
		}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("step %q: %v\n%s", step.Name, err, out)
		}
		ran++
	}
	if ran != 4 {
		t.Errorf("%d steps ran, want build, test, check, and sign and push", ran)
	}
	w.write("anchor.yaml", "trust: {require: signed, publishers: {\""+s.host+"/acme/*\": [\""+strings.Fields(w.read("acme.pub"))[len(strings.Fields(w.read("acme.pub")))-1]+"\"]}}\n"+
		"steps: [{name: keep, plugin: 'oci://"+s.host+"/acme/keep-best:0.1.0'}]"+turn)
	w.ok("plugin", "install")
	w.locked("0.1.0")
}
