package client

import (
	"path/filepath"

	"github.com/anchor-host/anchor-host/tools/messages/fake"
)

type input = map[string]any

// claudeScript has single and parallel calls, thinking, results that are errors, and a long one.
func claudeScript(dir string) []fake.Turn {
	greet, notes := filepath.Join(dir, "greet.go"), filepath.Join(dir, "notes.txt")
	bash := func(command string) fake.Call {
		return fake.Call{Name: "Bash", Input: input{"command": command, "description": "Try it"}}
	}
	read := func(path string) fake.Call { return fake.Call{Name: "Read", Input: input{"file_path": path}} }
	edit := func(from, to string) fake.Call {
		return fake.Call{Name: "Edit", Input: input{"file_path": greet, "old_string": from, "new_string": to}}
	}
	return []fake.Turn{
		{Think: "I read both files first.", Text: "I look at the files.", Calls: []fake.Call{read(greet), read(notes)}},
		{Calls: []fake.Call{bash("echo one && ls")}},
		{Think: "Now the change.", Calls: []fake.Call{edit(`"hello"`, `"hello, world"`)}},
		{Text: "Three checks at once.", Calls: []fake.Call{bash("echo a"), bash("echo b"), bash("cat notes.txt")}},
		{Calls: []fake.Call{read(filepath.Join(dir, "absent.go"))}},
		{Think: "That file is not there.", Text: "It is not there. I go on.", Calls: []fake.Call{bash("exit 3")}},
		{Calls: []fake.Call{edit("no such text", "x")}},
		{Calls: []fake.Call{bash("seq 1 400")}},
		{Text: "Once more.", Calls: []fake.Call{read(greet), bash("echo done >> notes.txt; tail -1 notes.txt")}},
		{Calls: []fake.Call{edit("// Greet greets.", "// Greet greets the whole world.")}},
		{Calls: []fake.Call{bash("printf 'no newline'")}},
		{Text: "greet.go greets the whole world."},
	}
}

// codexScript does the same with the tools of Codex.
func codexScript(string) []fake.Turn {
	shell := func(command string) fake.Call {
		return fake.Call{Name: "exec_command", Input: input{"cmd": command}}
	}
	// Codex knows this tool with some models only. With others it answers with an error.
	patch := fake.Call{Name: "apply_patch", Input: input{
		"*": "*** Begin Patch\n*** Update File: greet.go\n@@\n-// Greet greets.\n+// Greet greets all.\n*** End Patch\n",
	}}
	return []fake.Turn{
		{Think: "I read both files first.", Text: "I look at the files.", Calls: []fake.Call{shell("cat greet.go"), shell("cat notes.txt")}},
		{Calls: []fake.Call{shell("echo one && ls")}},
		{Think: "Now the change.", Calls: []fake.Call{patch}},
		{Text: "Three checks at once.", Calls: []fake.Call{shell("echo a"), shell("echo b"), shell("cat notes.txt")}},
		{Calls: []fake.Call{shell("cat absent.go")}},
		{Think: "That file is not there.", Text: "It is not there. I go on.", Calls: []fake.Call{shell("exit 3")}},
		{Calls: []fake.Call{shell(`sed -i 's/"hello"/"hello, world"/' greet.go && cat greet.go`)}},
		{Calls: []fake.Call{shell("seq 1 400")}},
		{Think: "Once more.", Calls: []fake.Call{shell("cat greet.go"), shell("echo done >> notes.txt; tail -1 notes.txt")}},
		{Calls: []fake.Call{patch, shell("sed -i 's/greets/greets the whole world/' greet.go")}},
		{Calls: []fake.Call{shell("printf 'no newline'")}},
		{Text: "greet.go greets the whole world."},
	}
}
