package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/testkit/msgtest"
	"github.com/anchor-host/anchor-host/tools/messages/judge"
)

// histories is how many generated histories each peer truncates, and messages how many each has.
const (
	histories = 100
	messages  = 60
)

// peers writes the histories, truncates them with the peers' script and with anchor-host, and
// prints how many of the outputs the judge refuses.
func peers(args []string) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	python := flags.String("python", "python3", "the Python that has the peers")
	script := flags.String("script", "peers/truncate.py", "the script that runs them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New(usage)
	}
	for _, loop := range []bool{false, true} {
		if err := comparePeers(flags.Arg(0), *python, *script, loop); err != nil {
			return err
		}
	}
	return nil
}

func comparePeers(command, python, script string, loop bool) error {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := ours(command, in, filepath.Join(out, "anchor-host assemble"), loop); err != nil {
		return err
	}
	cmd := exec.Command(python, script, in, out)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("peers: run %s: %w", script, err)
	}
	fmt.Println(map[bool]string{false: "Conversations, in which the user speaks every few messages:\n", true: "\nRuns of an agent, with one message of the user:\n"}[loop])
	return tally(out)
}

// ours writes the histories into in, and what the command makes of them into out.
func ours(command, in, out string, loop bool) error {
	for _, form := range peerForms {
		source, target := filepath.Join(in, form), filepath.Join(out, form)
		if err := errors.Join(os.MkdirAll(source, 0o700), os.MkdirAll(target, 0o700)); err != nil {
			return err
		}
		for seed := range uint64(histories) {
			body := msgtest.Body(msgtest.Options{Form: form, Seed: seed, Messages: messages, Simple: true, Loop: loop})
			name := fmt.Sprintf("%03d", seed)
			if err := os.WriteFile(filepath.Join(source, name+".json"), body, 0o600); err != nil {
				return err
			}
			// Four bytes are about one token, and the budget is half of them.
			result, err := assemble(command, form, fmt.Sprint(len(body)/8), body)
			name += ".json"
			if err != nil {
				name, result = strings.TrimSuffix(name, "json")+"error", []byte(err.Error())
			}
			if err := os.WriteFile(filepath.Join(target, name), result, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// peerForms are the forms of the table. No peer writes that of Gemini.
var peerForms = []string{judge.Anthropic, judge.Chat, judge.Responses, judge.Gemini}

// tally judges dir/ROW/FORM/* and prints a table: how many of each form are refused with their
// mean size, and the commonest reason of the row.
func tally(dir string) error {
	fmt.Printf("| truncated by | %s | commonest reason |\n|---|%s---|\n", strings.Join(peerForms, " | "), strings.Repeat("--:|", len(peerForms)))
	rows, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, row := range rows {
		reasons := map[string]int{}
		fmt.Printf("| %s |", row.Name())
		for _, form := range peerForms {
			cell, err := tallyForm(filepath.Join(dir, row.Name(), form), form, reasons)
			if err != nil {
				return err
			}
			fmt.Printf(" %s |", cell)
		}
		fmt.Printf(" %s |\n", commonest(reasons))
	}
	return nil
}

// tallyForm judges the files of a folder, and adds the reasons of refusals.
func tallyForm(dir, form string, reasons map[string]int) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		return "–", err
	}
	refused, size := 0, 0
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		reason := ""
		if strings.HasSuffix(file, ".error") {
			reason = "it fails: " + strings.SplitN(string(body), "\n", 2)[0]
		} else if refusal := (*judge.Refusal)(nil); errors.As(judge.Accept(form, body), &refusal) {
			reason = refusal.Rule
		}
		size += len(body)
		if reason != "" {
			refused++
			reasons[reason]++
		}
	}
	return fmt.Sprintf("%d of %d (%d KB)", refused, len(files), size/len(files)/1000), nil
}

// commonest returns the reason that comes most often, fit for a cell of a table.
func commonest(reasons map[string]int) string {
	if len(reasons) == 0 {
		return ""
	}
	r := slices.MaxFunc(slices.Sorted(maps.Keys(reasons)), func(a, b string) int { return cmp.Compare(reasons[a], reasons[b]) })
	return fmt.Sprintf("%.100s", strings.ReplaceAll(r, "|", "/"))
}
