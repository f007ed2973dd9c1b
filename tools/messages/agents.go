package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/anchor-host/anchor-host/tools/messages/client"
	"github.com/anchor-host/anchor-host/tools/messages/fake"
)

// turns is how many requests the first session has at least.
const turns = 20

// connected is how a client is tried with hooks.
type connected struct {
	*client.Client
	name     string // that of "connect"
	settings map[string]string
	// shell is a call of the client's shell; args are added to its command.
	shell func(command string) fake.Call
	args  []string
	// count is how many lines the large result has, and config an anchor.yaml, if there is one. Codex cuts results of
	// more than 10,000 bytes before hooks see them.
	count  int
	config string
	// recall is the name of our tool that gives what was cut, where the client calls it without further settings.
	recall string
}

var agentClients = []connected{
	{
		&client.Clients[0], "claude",
		map[string]string{".claude/settings.json": "{\n    \"env\": {\"MINE\": \"1\"},\n    \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}\n}\n\n"},
		func(command string) fake.Call {
			return fake.Call{Name: "Bash", Input: map[string]any{"command": command, "description": "Try it"}}
		}, []string{"--allowedTools", "Bash,Read,Edit,mcp__anchor-host__recall"}, 6000, "", "mcp__anchor-host__recall",
	},
	{
		&client.Clients[1], "codex",
		map[string]string{".codex/config.toml": "# mine\nmodel = \"gpt-5.1-codex\"\nmodel_provider = \"fake\"\nmodel_reasoning_effort = \"low\"\n[model_providers.fake]\nname = \"fake\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\n[analytics]\nenabled = false # keep"},
		func(command string) fake.Call {
			return fake.Call{Name: "exec_command", Input: map[string]any{"cmd": command, "max_output_tokens": 100_000}}
		}, []string{"--dangerously-bypass-hook-trust"}, 1800, "agent: {hooks: {tool_chars: 4000}}\n", "",
	},
}

// agents connects each client, runs two sessions in one project, and says what the API got.
func agents(args []string) error {
	flags := flag.NewFlagSet("agents", flag.ContinueOnError)
	bin := binFlag(flags)
	show := flags.Bool("show", false, "print the session of the first client")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New(usage)
	}
	folder, err := filepath.Abs(*bin)
	if err != nil {
		return err
	}
	command, err := filepath.Abs(flags.Arg(0))
	if err != nil {
		return err
	}
	list := agentClients
	if *show {
		list = list[:1]
	}
	for i := range list {
		if err := list[i].try(folder, command, *show); err != nil {
			return fmt.Errorf("%s: %w", list[i].name, err)
		}
	}
	return nil
}

// trial is one client in a home folder of its own.
type trial struct {
	*connected
	home, work, command string
	show                bool
}

func (c *connected) try(bin, command string, show bool) error {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t := &trial{c, filepath.Join(dir, "home"), filepath.Join(dir, "project"), command, show}
	for name, text := range c.settings {
		path := filepath.Join(t.home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(t.work, 0o700); err != nil {
		return err
	}
	connect := []string{"connect", c.name}
	if c.config != "" {
		file := filepath.Join(dir, "anchor.yaml")
		if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
			return err
		}
		connect = append(connect, "--config", file)
	}
	out, err := t.run(connect...)
	if err != nil {
		return err
	}
	t.say("$ anchor-host connect "+c.name, out)
	if err := t.sessions(bin); err != nil {
		log, _ := t.run("hook", "log", "--limit", "100")
		return fmt.Errorf("%w\n%s", err, log)
	}
	return t.removed()
}

// run runs the command with the home folder of the client.
func (t *trial) run(args ...string) (string, error) {
	return inHome(t.command, t.home, t.work, args...)
}

func (t *trial) say(what, text string) {
	if t.show {
		fmt.Printf("%s\n%s\n", what, strings.TrimRight(text, "\n"))
	}
}

const (
	first  = "Remember: the release is called Nightjar. We decided that tests run with make check."
	second = "What is the release called, and how do the tests run?"
)

// sessions runs both sessions and judges their requests.
func (t *trial) sessions(bin string) error {
	script := []fake.Turn{{Text: "I count first.", Calls: []fake.Call{t.shell(fmt.Sprintf("seq 1 %d", t.count))}}}
	for i := 1; i < turns-1; i++ {
		script = append(script, fake.Turn{Calls: []fake.Call{t.shell(fmt.Sprintf("echo step %d", i))}})
	}
	script = append(script, fake.Turn{Text: "Noted. The release is called Nightjar."})
	t.say("\n$ "+t.name+" -p ...", "> "+first)
	bodies, err := t.Session(context.Background(), bin, t.home, t.work, first, script, t.args...)
	if err != nil {
		return err
	}
	if err := samePrefix(bodies); err != nil {
		return err
	}
	if err := t.cut(bodies[len(bodies)-1]); err != nil {
		return err
	}
	t.say("\n$ "+t.name+" -p ...   # a new session", "> "+second)
	answers := []fake.Turn{{Text: "Nightjar; make check."}}
	if t.recall != "" {
		handle := string(handlePattern.Find(bodies[len(bodies)-1]))
		answers = append([]fake.Turn{{Calls: []fake.Call{{Name: t.recall, Input: map[string]any{"handle": handle, "max_tokens": 2000, "offset": 12_000}}}}}, answers...)
	}
	later, err := t.Session(context.Background(), bin, t.home, t.work, second, answers, t.args...)
	if err != nil {
		return err
	}
	if middle := t.count / 2; t.recall != "" && !bytes.Contains(later[1], fmt.Appendf(nil, "%d\\\\n%d\\\\n", middle, middle+1)) {
		return fmt.Errorf("the tool %s does not give what was cut: %s", t.recall, sentences(later[1], "tool_use_id"))
	}
	added := sentences(later[0], "kept by anchor-host")
	if len(added) == 0 || !strings.Contains(strings.Join(added, "\n"), "Nightjar") {
		return fmt.Errorf("the second session has nothing of the first: %q", added)
	}
	t.say("the API gets, beside the prompt:", strings.Join(added, "\n"))
	log, err := t.run("hook", "log", "--limit", "12")
	t.say("\n$ anchor-host hook log", log)
	fmt.Printf("%s: %d requests, one prefix; a result cut and recalled; the second session knows of the first (%d characters added)\n", t.name, len(bodies), len(strings.Join(added, "")))
	return err
}

var handlePattern = regexp.MustCompile(`cut-[0-9a-f]{20}`)

// cut checks that a request has the large result in its cut form, and that its handle gives all of it.
func (t *trial) cut(body []byte) error {
	handle := handlePattern.Find(body)
	if middle := t.count * 3 / 4; handle == nil || bytes.Contains(body, fmt.Appendf(nil, "%d\\n%d\\n", middle, middle+1)) {
		return fmt.Errorf("the large result is not cut in a request of %d bytes", len(body))
	}
	text, err := t.run("memory", "get", string(handle))
	if err != nil {
		return err
	}
	var want strings.Builder
	for i := range t.count {
		fmt.Fprintf(&want, "%d\n", i+1)
	}
	if strings.TrimSpace(text) != strings.TrimSpace(want.String()) {
		return fmt.Errorf("handle %s gives %d bytes, want the %d of seq: %.200q", handle, len(text), want.Len(), text)
	}
	t.say("a result of "+fmt.Sprint(want.Len())+" characters reaches the API as", shortened(strings.Join(sentences(body, "left out; all of it"), " ")))
	t.say("\n$ anchor-host memory get "+string(handle)+" | wc -c", fmt.Sprint(len(text)))
	return nil
}

// shortened is the beginning of a text on one line.
func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), 300)] + " …"
}

// sentences returns the texts in a body that have a phrase, shortened.
func sentences(body []byte, phrase string) (found []string) {
	var doc any
	if json.Unmarshal(body, &doc) != nil {
		return nil
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if i := strings.Index(v, phrase); i >= 0 {
				end, _, _ := strings.Cut(v[i:min(len(v), i+1500)], "\n\n")
				found = append(found, v[max(0, i-100):i]+end)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(doc)
	return found
}

// samePrefix checks that each request begins with the messages of the one before, byte for byte, and that all have
// the same system prompt and tools. The client moves its own cache marks, which are no part of the text.
func samePrefix(bodies [][]byte) error {
	if len(bodies) < turns {
		return fmt.Errorf("%d requests, want %d", len(bodies), turns)
	}
	var before []string
	head := ""
	for i, body := range bodies {
		var doc struct {
			System, Tools, Instructions json.RawMessage
			Messages, Input             []json.RawMessage
		}
		if err := json.Unmarshal(body, &doc); err != nil {
			return err
		}
		now := append(plainMessages(doc.Messages), plainMessages(doc.Input)...)
		fixed := string(doc.Tools) + string(doc.Instructions) + unmarked(doc.System)
		if i > 0 && fixed != head {
			return fmt.Errorf("request %d: the system prompt or the tools changed", i+1)
		}
		if len(now) < len(before) {
			return fmt.Errorf("request %d has %d messages, fewer than the one before", i+1, len(now))
		}
		for j := range before {
			if now[j] != before[j] {
				return fmt.Errorf("request %d: message %d changed: %.300s and before %.300s", i+1, j+1, now[j], before[j])
			}
		}
		before, head = now, fixed
	}
	return nil
}

var mark = regexp.MustCompile(`,?"cache_control":\{[^{}]*\}`)

func unmarked(raw []byte) string { return mark.ReplaceAllString(string(raw), "") }

func plainMessages(list []json.RawMessage) (plain []string) {
	for _, m := range list {
		plain = append(plain, unmarked(m))
	}
	return plain
}

// removed checks that the settings are as they were.
func (t *trial) removed() error {
	if _, err := t.run("connect", t.name, "--remove"); err != nil {
		return err
	}
	for name, want := range t.settings {
		if got, err := os.ReadFile(filepath.Join(t.home, name)); err != nil || string(got) != want {
			return fmt.Errorf("%s after connect and --remove: %w\n%s", name, err, got)
		}
	}
	t.say("\n$ anchor-host connect "+t.name+" --remove", "the settings have their bytes from before")
	return nil
}
