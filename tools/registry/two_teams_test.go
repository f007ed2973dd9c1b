package registrytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
