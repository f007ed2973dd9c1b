// Package client runs coding agents against a fake of their API, where they can reach nothing
// else, and keeps the bodies of their requests.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/tools/messages/fake"
	"github.com/anchor-host/anchor-host/tools/messages/judge"
)

// A Client is a coding agent that can be run.
type Client struct {
	Name string // claude-code or codex
	Form string // form of its requests, see package judge
	// start writes the client's settings and returns its command. The API is at url, home is
	// an empty folder, and the working directory is the project.
	start  func(bin, home, url, prompt string) ([]string, []string, error)
	script func(dir string) []fake.Turn
}

// Clients are the clients that this package knows. Their commands are in npm packages.
var Clients = []Client{
	{"claude-code", judge.Anthropic, startClaude, claudeScript},
	{"codex", judge.Responses, startCodex, codexScript},
}

// startClaude: see https://code.claude.com/docs/en/settings.
func startClaude(bin, home, url, prompt string) (args, env []string, err error) {
	return []string{filepath.Join(bin, "claude"), "-p", prompt, "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Read,Edit"},
		[]string{
			"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=made-up", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"CLAUDE_CONFIG_DIR=" + filepath.Join(home, ".claude"), "DISABLE_AUTOUPDATER=1",
		}, nil
}

// startCodex: see docs/config.md of Codex.
func startCodex(bin, home, url, prompt string) (args, env []string, err error) {
	dir := filepath.Join(home, ".codex")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	config := `model = "gpt-5.1-codex"
model_provider = "fake"
model_reasoning_effort = "low"
[model_providers.fake]
name = "fake"
wire_api = "responses"
env_key = "FAKE_KEY"
[analytics]
enabled = false
`
	file := filepath.Join(dir, "config.toml")
	if _, err = os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(file, []byte(config), 0o600)
	}
	return []string{filepath.Join(bin, "codex"), "exec", "-c", fmt.Sprintf("model_providers.fake.base_url=%q", url+"/v1"), "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt},
		[]string{"CODEX_HOME=" + dir, "FAKE_KEY=made-up"}, err
}

const prompt = "Make greet.go greet the whole world, and check it."

// project writes the files that the scripts work on.
func project(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "greet.go"), []byte("package greet\n\n// Greet greets.\nfunc Greet() string { return \"hello\" }\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("Greet everyone.\nBe polite: naïve, \"quoted\" and 日本語 names work, too.\n"), 0o600))
}

// Run runs a client through its script in folders below dir, which must be empty, and returns
// the bodies of the requests of its session. bin is the folder with the client's command.
func (c *Client) Run(ctx context.Context, bin, dir string) ([][]byte, error) {
	if err := Isolated(); err != nil {
		return nil, err
	}
	home, work := filepath.Join(dir, "home"), filepath.Join(dir, "project")
	if err := errors.Join(os.Mkdir(home, 0o700), project(work)); err != nil {
		return nil, fmt.Errorf("client %s: make its folders: %w", c.Name, err)
	}
	return c.Session(ctx, bin, home, work, prompt, c.script(work))
}

// Session runs one session of a client in a home folder and a project that are there, with a prompt and the answers
// of the API. It returns the bodies of the requests of the session. args are added to the command.
func (c *Client) Session(ctx context.Context, bin, home, work, prompt string, script []fake.Turn, more ...string) ([][]byte, error) {
	if err := Isolated(); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("client %s: listen: %w", c.Name, err)
	}
	var bodies [][]byte
	api := &fake.Server{Script: script, Record: func(_ int, body []byte) { bodies = append(bodies, body) }}
	server := &http.Server{Handler: api}
	go func() { _ = server.Serve(listener) }()

	args, env, err := c.start(bin, home, "http://"+listener.Addr().String(), prompt)
	if err != nil {
		return nil, fmt.Errorf("client %s: write its settings: %w", c.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	args = append(args[:len(args):len(args)], more...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = work
	// Nothing of the caller's environment but where programs are.
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+home, "TMPDIR="+home, "LANG=C.UTF-8")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	runErr := cmd.Run()
	if err := server.Shutdown(ctx); err != nil {
		server.Close()
	}
	if runErr != nil {
		return nil, fmt.Errorf("client %s: run: %w: %.2000s", c.Name, runErr, output.String())
	}
	if len(bodies) < len(api.Script) {
		return nil, fmt.Errorf("client %s: run: it sent %d requests, and the script has %d turns: %.2000s", c.Name, len(bodies), len(api.Script), output.String())
	}
	return bodies, nil
}

// Isolated returns an error unless loopback is the only network interface. A client must not
// reach anything but the fake.
func Isolated() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("network: list interfaces: %w", err)
	}
	if slices.ContainsFunc(interfaces, func(i net.Interface) bool { return i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 }) {
		return errors.New("network: refuse to run a client: there is more than loopback (use: unshare -rn)")
	}
	return nil
}
