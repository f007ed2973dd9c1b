//go:build unix

package console

import (
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

var printed = regexp.MustCompile(`<code class="command" data-copy>([^<]+)</code>`)

// The commands that the page of a build prints work as printed, in any folder, also for names that a shell would
// take for something else.
func TestPrintedCommandsWork(t *testing.T) {
	u := &user{site: newSite(t, nil)}
	const tenant = "o'brien & $HOME sons"
	o := anchor.BuildOptions{Tenant: tenant, ID: "b1", User: "ann's; $HOME", Conversation: "a chat; rm"}
	facts, err := u.app.Facts(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := facts.Add(t.Context(), memory.Entry{Content: secret, UserID: o.User}); err != nil {
		t.Fatal(err)
	}
	if _, err := u.app.BuildRequest(t.Context(), "request", strings.NewReader(`{"query": "q", "counting": {"tokenizer": "words"}}`), o); err != nil {
		t.Fatal(err)
	}
	if err := u.app.FlushRecords(t.Context()); err != nil {
		t.Fatal(err)
	}
	page := u.send(linkOf(tenant, "build", "id", "b1"), nil).Body.String()
	bin := t.TempDir()
	if err := os.Symlink(testbuild.Command(t), filepath.Join(bin, "anchor-host")); err != nil {
		t.Fatal(err)
	}
	list := printed.FindAllStringSubmatch(page, -1)
	if len(list) != 2 {
		t.Fatalf("%d commands are printed, want 2", len(list))
	}
	for i, want := range []string{"items in the window", `"content":"` + secret} {
		text := html.UnescapeString(list[i][1])
		cmd := exec.CommandContext(t.Context(), "sh", "-c", text)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(strings.ReplaceAll(string(out), `": "`, `":"`), want) {
			t.Errorf("%s\n%v\n%s", text, err, out)
		}
	}
}
