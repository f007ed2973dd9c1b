package examples

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// programs are the examples, each with its command in the folder examples. PYTHON and GO are those
// of `make test-examples`.
var programs = map[string][]string{
	"python/anthropic_sdk":    {"PYTHON", "python/anthropic_sdk.py"},
	"python/openai_sdk":       {"PYTHON", "python/openai_sdk.py"},
	"python/langchain_agent":  {"PYTHON", "python/langchain_agent.py"},
	"python/llamaindex_agent": {"PYTHON", "python/llamaindex_agent.py"},
	"js/anthropic":            {"node", "js/anthropic.mjs"},
	"js/openai":               {"node", "js/openai.mjs"},
	"js/vercel-ai":            {"node", "js/vercel-ai.mjs"},
	"go/anthropic":            {"../build/examples/anthropic"},
	"go/openai":               {"../build/examples/openai"},
}

// Every program is listed, so that none stands there untried, and none has more than 60 lines.
func TestEveryExampleIsTried(t *testing.T) {
	found := 0
	for _, pattern := range []string{"python/*.py", "js/*.mjs", "go/*/*.go"} {
		files, err := filepath.Glob(filepath.Join("../../examples", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(text, []byte("\n")); n > 60 {
				t.Errorf("%s has %d lines", file, n)
			}
			name, _ := filepath.Rel("../../examples", file)
			name = strings.TrimSuffix(strings.TrimSuffix(name, filepath.Ext(name)), "/main")
			if strings.Contains(name, "session") {
				continue
			}
			if found++; programs[filepath.ToSlash(name)] == nil {
				t.Errorf("%s is not tried", name)
			}
		}
	}
	if found != len(programs) {
		t.Errorf("%d examples, %d programs", found, len(programs))
	}
}

// serve starts the service, and returns its address.
func serve(t *testing.T, command string) string {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "anchor.yaml")
	text := "counting: {tokenizer: words}\nserver: {listen: \"127.0.0.1:0\", admin_listen: \"127.0.0.1:0\"}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), command, "serve", "-c", config, "--store", filepath.Join(dir, "store.db"))
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 10*time.Second
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if m := regexp.MustCompile(`API is at (http://[0-9.:]+)`).FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return m[1]
		}
	}
	t.Fatal("the service did not start")
	return ""
}

func TestExamples(t *testing.T) {
	command, python := os.Getenv("ANCHOR_EXAMPLES_COMMAND"), os.Getenv("ANCHOR_EXAMPLES_PYTHON")
	if command == "" || python == "" {
		t.Skip("ANCHOR_EXAMPLES_COMMAND and ANCHOR_EXAMPLES_PYTHON name no programs; make test-examples does")
	}
	service, api := serve(t, command), newFake()
	t.Cleanup(api.Close)
	languages := os.Getenv("ANCHOR_EXAMPLES")
	for name, program := range programs {
		if language, _, _ := strings.Cut(name, "/"); languages != "" && !strings.Contains(languages, ","+language+",") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			args := append([]string(nil), program...)
			if args[0] == "PYTHON" {
				args[0] = python
			}
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			home := t.TempDir()
			cmd.Dir = "../../examples"
			cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1", "ANCHOR_URL=" + service,
				"ANTHROPIC_BASE_URL=" + api.URL, "ANTHROPIC_API_KEY=made-up", "OPENAI_BASE_URL=" + api.URL + "/v1",
				"OPENAI_API_BASE=" + api.URL + "/v1", "OPENAI_API_KEY=made-up", "NLTK_DATA=" + home, "LANGSMITH_TRACING=false"}
			var errors bytes.Buffer
			cmd.Stderr = &errors
			out, err := cmd.Output()
			if err != nil || strings.TrimSpace(string(out)) != finalAnswer {
				t.Fatalf("%v: %q\n%s", err, out, errors.String())
			}
			judge(t, service, api.taken())
		})
	}
}

// judge reads what the model was sent: after each call of the tool one request more, of which none
// has more than the budget, and a handle for each result that was cut.
func judge(t *testing.T, service string, log []string) {
	t.Helper()
	if len(log) != calls+1 {
		t.Fatalf("%d requests, want %d", len(log), calls+1)
	}
	for i, body := range log {
		var request struct{ Messages []json.RawMessage }
		if err := json.Unmarshal([]byte(body), &request); err != nil {
			t.Fatal(err)
		}
		words := 0
		for _, m := range request.Messages {
			words += len(strings.Fields(strings.ReplaceAll(string(m), `\n`, " ")))
		}
		if words > 2000 {
			t.Errorf("request %d has %d words, the budget is 2000", i+1, words)
		}
		if i == 0 {
			continue
		}
		handles := regexp.MustCompile(`anchor-host memory get (cut-[0-9a-f]+)`).FindAllStringSubmatch(body, -1)
		if len(handles) == 0 || !strings.Contains(body, "Which requests failed?") {
			t.Fatalf("request %d: %d handles: %.2000s", i+1, len(handles), body)
		}
		last := handles[len(handles)-1][1]
		whole := get(t, service+"/v1/cuts/"+last)
		page := "page " + string(rune('0'+i)) + ", line 1500: "
		if strings.Contains(body, page) || !strings.Contains(whole, page) {
			t.Errorf("request %d: its middle is in the request: %v; the handle gives it back: %v", i+1, strings.Contains(body, page), strings.Contains(whole, page))
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %.200s", url, resp.Status, err, text)
	}
	return string(text)
}
