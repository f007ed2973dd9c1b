package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/providers"
)

// assembled is what assemble -o json prints.
type assembled struct {
	Messages []pipeline.Message
	State    agent.State
}

// takeTurns has assemble prepare the messages of a run for so many turns.
func takeTurns(t *testing.T, turns int, args ...string) (last assembled, stderr string) {
	t.Helper()
	for i := range turns {
		input := fmt.Sprintf(`[{"role": "user", "content": "question %d has six words here"}, {"role": "assistant", "content": "answer %d has five words"}]`, i, i)
		code, stdout, err := run(t, input, append([]string{"assemble", "--run", "r", "-o", "json"}, args...)...)
		if code != codeOK {
			t.Fatalf("turn %d: code %d: %s", i, code, err)
		}
		last, stderr = decode[assembled](t, stdout), err
	}
	return last, stderr
}

const observingConfig = `
counting: {tokenizer: words}
agent:
  max_tokens: 600
  observation: {make: %s, high_water: 100, low_water: 40, reflect: {use: %s, high_water: 150, low_water: 60}}
`

// Old messages of a run become observations, old observations a reflection, and both stay
// with the run.
func TestObservationsAreMade(t *testing.T) {
	storeFolder(t, map[string]string{"anchor.yaml": fmt.Sprintf(observingConfig, "builtin", "builtin")})
	must(t, "", "frames", "push", "--run", "r", "--kind", "checkpoint", "tests pass")
	last, _ := takeTurns(t, 60)
	s := last.State
	if len(s.Messages) > 25 || len(s.Observations) < 4 || s.Reflection == "" {
		t.Fatalf("%d messages, observations %q, reflection %q", len(s.Messages), s.Observations, s.Reflection)
	}
	if first := s.Observations[1]; !strings.Contains(first, " has ") || strings.Contains(s.Reflection, "[frame ") {
		t.Errorf("observation %q, reflection %q", first, s.Reflection)
	}
	if at := len(s.Observations) - 1; s.Observations[at] != "[frame 0 checkpoint] tests pass" {
		t.Errorf("the frame of the run: %q", s.Observations[at])
	}
	note := last.Messages[0]
	if !strings.HasPrefix(note.Text(), providers.DefaultObservationHeader) || !strings.Contains(note.Text(), s.Observations[0]) || !strings.Contains(note.Text(), s.Reflection) {
		t.Errorf("the model reads %q", note.Text())
	}
	if out := must(t, "[]", "assemble", "--run", "r", "--explain"); !strings.Contains(out, s.Observations[0]) {
		t.Errorf("the run has lost its observations: %s", out)
	}
	t.Setenv("ANCHOR_HOST_AGENT_OBSERVATION", "false")
	if out := must(t, reflectingState, "assemble", "-o", "json"); len(decode[assembled](t, out).State.Observations) != 2 {
		t.Errorf("the switch leaves the makers on: %s", out)
	}
	t.Setenv("ANCHOR_HOST_AGENT_OBSERVATION", "")
	// Off by default: what was made stays, and nothing is made.
	if out := must(t, `{"messages": [{"role": "user", "content": "hi"}]}`, "assemble", "-o", "json"); strings.Contains(out, "observations\":") {
		t.Errorf("a run of its own: %s", out)
	}
}

// reflectingState is a state whose observations are to become a reflection.
var reflectingState = `{"state": {"observations": ["` + strings.Repeat("word ", 130) + `", "` + strings.Repeat("word ", 40) + `"]}, "messages": []}`

func TestObservationsOfAPlugin(t *testing.T) {
	plugins, err := filepath.Abs("../../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	storeFolder(t, map[string]string{"anchor.yaml": fmt.Sprintf(observingConfig, "{use: distill}", "distill"),
		"two.yaml": fmt.Sprintf(observingConfig, "{use: distill}", "builtin")})
	last, _ := takeTurns(t, 12, "--plugins", plugins)
	if got := strings.Join(last.State.Observations, ","); got != "noted,noted" {
		t.Errorf("observations %q", got)
	}
	if len(last.State.Messages) > 20 {
		t.Errorf("%d messages", len(last.State.Messages))
	}
	for file, want := range map[string]string{"anchor.yaml": "drawn", "two.yaml": "word word"} {
		state := decode[assembled](t, must(t, reflectingState, "assemble", "-c", file, "-o", "json", "--plugins", plugins)).State
		if !strings.HasPrefix(state.Reflection, want) || len(state.Observations) != 1 {
			t.Errorf("%s: reflection %q of %d observations", file, state.Reflection, len(state.Observations))
		}
	}
}

// A distiller that fails is left out with a line, and nothing is lost.
func TestObservationsThatFail(t *testing.T) {
	plugins, err := filepath.Abs("../../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	storeFolder(t, map[string]string{"anchor.yaml": fmt.Sprintf(observingConfig, "{use: keep-first}", "builtin"),
		"missing.yaml": fmt.Sprintf(observingConfig, "{use: nobody}", "builtin")})
	code, _, stderr := run(t, "", "config", "validate", "--plugins", plugins)
	if code != codeInvalid || !strings.Contains(stderr, "agent.observation.make: plugin \"keep-first\": no such operation") {
		t.Errorf("a plugin without the operation: code %d: %s", code, stderr)
	}
	last, stderr := takeTurns(t, 12, "--plugins", plugins, "-c", "missing.yaml")
	if !strings.Contains(stderr, `provider "observing": `) || !strings.Contains(stderr, "(left out)") {
		t.Errorf("nothing is said: %s", stderr)
	}
	if len(last.State.Messages) != 24 || len(last.State.Observations) != 0 {
		t.Errorf("%d messages, observations %q", len(last.State.Messages), last.State.Observations)
	}
	if code, _, stderr = run(t, "[]", "assemble", "--run", "r", "--strict", "-c", "missing.yaml"); code != codeDegraded {
		t.Errorf("--strict: code %d: %s", code, stderr)
	}
}
