//go:build unix

package registrycmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
)

// A key that cannot be written is refused before anything is made, and no key is lost.
func TestKeygenKeepsWhatIsThere(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("ANCHOR_HOST_KEY_PASSWORD", "")
	if code, stdout, stderr := run(t, "", "plugin", "keygen", "--key", "a.key"); code != cli.CodeOK || !strings.Contains(stdout, "encrypted  no") {
		t.Fatalf("code %d, %s%s", code, stdout, stderr)
	}
	before := clitest.Read(t, "a.key")
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
		if code == cli.CodeOK || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: code %d, %s", c.args, code, stderr)
		}
	}
	left, err := filepath.Glob("*")
	if err != nil || !slices.Equal(left, []string{"a.key", "a.pub", "b.pub"}) || string(clitest.Read(t, "a.key")) != string(before) {
		t.Errorf("left %q, %v", left, err)
	}
}
