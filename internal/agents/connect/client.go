package connect

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Names lists the clients that can be connected.
var Names = []string{"claude", "codex", "copilot", "cursor", "vscode"}

// serverName is the name of our MCP server in the settings of clients.
const serverName = "anchor-host"

// Options say where and what to write.
type Options struct {
	// Command is the absolute path of the program.
	Command string
	// Config is the absolute path of the configuration that hooks and server use. Empty: none.
	Config string
	// Project is the folder of the project whose settings are meant. Empty: those of the user.
	Project string
	// Receipts is the folder of the receipts.
	Receipts string
	// Home is the home folder. Empty: that of the user. Env looks up variables; nil means os.Getenv.
	Home string
	Env  func(string) string
}

// Plan is what one client gets.
type Plan struct {
	// Client is one of [Names].
	Client string
	// Next says what the user has to do afterwards, empty if nothing.
	Next    string
	targets []target
	o       Options
}

// target is a file of settings and our entries in it.
type target struct {
	path    string
	toml    bool
	entries []entry
}

// entry is one thing of ours in a file: the member at a path, or with list an element of the list at the path.
type entry struct {
	path  []string
	value any
	list  bool
	// shared members, such as a version number, are written if they are missing, and stay.
	shared bool
}

// New returns the plan of a client.
func New(client string, o Options) (*Plan, error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Home == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("connect: %w (set HOME)", err)
		}
		o.Home = home
	}
	p := &Plan{Client: client, o: o}
	switch client {
	case "claude":
		p.claude()
	case "codex":
		p.codex()
	case "copilot":
		p.copilot()
	case "cursor":
		p.server(p.dir(".cursor", "mcp.json"), "mcpServers", false)
	case "vscode":
		path := filepath.Join(o.Project, ".vscode", "mcp.json")
		if o.Project == "" {
			path = filepath.Join(userFolder(o), "Code", "User", "mcp.json")
		}
		p.server(path, "servers", true)
	default:
		return nil, fmt.Errorf("connect: unknown client %.40q (want %s)", client, strings.Join(Names, ", "))
	}
	return p, nil
}

// dir is a path below the project, else below the home folder.
func (p *Plan) dir(parts ...string) string {
	base := cmp.Or(p.o.Project, p.o.Home)
	return filepath.Join(append([]string{base}, parts...)...)
}

// userFolder is where programs with a window keep settings of a user.
func userFolder(o Options) string {
	switch {
	case runtime.GOOS == "darwin":
		return filepath.Join(o.Home, "Library", "Application Support")
	case runtime.GOOS == "windows" && o.Env("APPDATA") != "":
		return o.Env("APPDATA")
	case o.Env("XDG_CONFIG_HOME") != "":
		return o.Env("XDG_CONFIG_HOME")
	}
	return filepath.Join(o.Home, ".config")
}

// claude: hooks in settings.json, for a project in the file that is not committed, as the path of the program is this
// user's; the server in .mcp.json of the project or .claude.json of the user.
func (p *Plan) claude() {
	settings, servers := filepath.Join(p.o.Project, ".claude", "settings.local.json"), filepath.Join(p.o.Project, ".mcp.json")
	if p.o.Project == "" {
		folder, base := filepath.Join(p.o.Home, ".claude"), p.o.Home
		if own := p.o.Env("CLAUDE_CONFIG_DIR"); own != "" {
			folder, base = own, own
		}
		settings, servers = filepath.Join(folder, "settings.json"), filepath.Join(base, ".claude.json")
	}
	// Files are read whole, so their tools need no hook.
	p.hooks(settings, "claude", map[string]string{"PostToolUse": "Bash|Grep|Glob|Task|Agent|WebFetch|WebSearch|mcp__.*"})
	p.server(servers, "mcpServers", true)
}

func (p *Plan) codex() {
	folder := filepath.Join(p.o.Project, ".codex")
	if p.o.Project == "" {
		if folder = p.o.Env("CODEX_HOME"); folder == "" {
			folder = filepath.Join(p.o.Home, ".codex")
		}
	}
	p.hooks(filepath.Join(folder, "hooks.json"), "codex", map[string]string{"PostToolUse": "Bash|mcp__.*"})
	p.targets = append(p.targets, target{path: filepath.Join(folder, "config.toml"), toml: true, entries: []entry{{
		path: []string{"mcp_servers", serverName}, value: p.serverEntry(false),
	}}})
	p.Next = "Codex runs new hooks after you trusted them: type /hooks in Codex"
}

func (p *Plan) copilot() {
	hooks, servers := filepath.Join(p.o.Project, ".github", "hooks", "anchor-host.json"), filepath.Join(p.o.Project, ".vscode", "mcp.json")
	list := "servers"
	if p.o.Project == "" {
		folder := p.o.Env("COPILOT_HOME")
		folder = cmp.Or(folder, filepath.Join(p.o.Home, ".copilot"))
		hooks, servers, list = filepath.Join(folder, "hooks", "anchor-host.json"), filepath.Join(folder, "mcp-config.json"), "mcpServers"
	}
	entries := []entry{{path: []string{"version"}, value: 1, shared: true}}
	for _, event := range []string{"sessionStart", "userPromptSubmitted", "postToolUse", "preCompact", "subagentStart", "agentStop", "sessionEnd"} {
		entries = append(entries, entry{path: []string{"hooks", event}, list: true, value: members{
			{"type", "command"}, {"bash", p.hookCommand("copilot", event)},
			{"powershell", "& " + strings.TrimSuffix(p.hookCommand("copilot", event), orNothing)}, {"timeoutSec", hookSeconds},
		}})
	}
	p.targets = append(p.targets, target{path: hooks, entries: entries})
	if list == "servers" {
		p.server(servers, list, true)
		return
	}
	p.targets = append(p.targets, target{path: servers, entries: []entry{{path: []string{list, serverName}, value: members{
		{"type", "local"}, {"command", p.o.Command}, {"args", p.serverArgs()}, {"tools", []string{"*"}},
	}}}})
}

// hookSeconds is how long a client waits for a hook. Hooks end by themselves much earlier.
const hookSeconds = 10

// orNothing keeps a program that is gone or crashed from stopping an agent, which takes some exit codes for an order.
const orNothing = " || true"

// hookCommand is the line that a shell of the client runs.
func (p *Plan) hookCommand(client, event string) string {
	line := quote(p.o.Command) + " hook " + client
	if event != "" {
		line += " --event " + event
	}
	if p.o.Config != "" {
		line += " --config " + quote(p.o.Config)
	}
	return line + orNothing
}

// quote quotes a path for a POSIX shell.
func quote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// hookEvents are the events of Claude Code and Codex that are answered.
var hookEvents = []string{"SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "PostCompact", "SubagentStart", "Stop", "SessionEnd"}

// hooks adds hooks in the form of Claude Code.
func (p *Plan) hooks(path, client string, matchers map[string]string) {
	t := target{path: path}
	for _, event := range hookEvents {
		var value members
		if m := matchers[event]; m != "" {
			value = members{{"matcher", m}}
		}
		value = append(value, member{"hooks", []any{members{
			{"type", "command"}, {"command", p.hookCommand(client, "")}, {"timeout", hookSeconds},
		}}})
		t.entries = append(t.entries, entry{path: []string{"hooks", event}, list: true, value: value})
	}
	p.targets = append(p.targets, t)
}

// server adds the entry of our MCP server.
func (p *Plan) server(path, list string, typed bool) {
	p.targets = append(p.targets, target{path: path, entries: []entry{{path: []string{list, serverName}, value: p.serverEntry(typed)}}})
}

func (p *Plan) serverEntry(typed bool) members {
	value := members{{"command", p.o.Command}, {"args", p.serverArgs()}}
	if typed {
		value = slices.Insert(value, 0, member{"type", "stdio"})
	}
	return value
}

func (p *Plan) serverArgs() []string {
	args := []string{"mcp"}
	if p.o.Config != "" {
		args = append(args, "--config", p.o.Config)
	}
	return args
}

// quoted is a text in quotes of a shell.
var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"`)

// isOurs reports whether a command of a hook runs our program, whatever its path was, and nothing else.
func isOurs(text string) bool {
	if strings.ContainsAny(quoted.ReplaceAllString(strings.TrimSuffix(text, orNothing), ""), ";|&\n") {
		return false // somebody added to it
	}
	i := strings.Index(text, " hook ")
	for ; i >= 0; i = next(text, i) {
		if isProgram(strings.TrimRight(text[:i], `'"\`)) {
			return true
		}
	}
	return false
}

// isProgram reports whether a path is that of our program, wherever it is.
func isProgram(path string) bool {
	base := path[strings.LastIndexAny(path, `/\`)+1:]
	return base == "anchor-host" || base == "anchor-host.exe"
}

func next(text string, after int) int {
	i := strings.Index(text[after+1:], " hook ")
	if i < 0 {
		return -1
	}
	return after + 1 + i
}
