package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// answer is the output of a binary for a case.
type answer struct {
	code     int
	out, err string
}

// run runs the case with a binary, in an empty folder and without an environment. With migrate its
// configuration is first rewritten by the binary.
func (c *randomCase) run(ctx context.Context, binary, plugins string, migrate bool) answer {
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return answer{code: -1, err: err.Error()}
	}
	defer os.RemoveAll(dir)
	for _, f := range c.files {
		if err := os.WriteFile(filepath.Join(dir, f.name), []byte(f.text), 0o600); err != nil {
			return answer{code: -1, err: err.Error()}
		}
	}
	args := slices.Clone(c.args)
	if plugins != "" {
		if plugins, err = filepath.Abs(plugins); err != nil {
			return answer{code: -1, err: err.Error()}
		}
		args = append(args, "--plugins", plugins)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if binary, err = filepath.Abs(binary); err != nil {
		return answer{code: -1, err: err.Error()}
	}
	// All cases share a home folder, which keeps machine code and its keys. The stores of cases
	// are elsewhere.
	home := filepath.Join(os.TempDir(), "compare-"+filepath.Base(binary))
	if err := os.MkdirAll(home, 0o700); err != nil {
		return answer{code: -1, err: err.Error()}
	}
	if migrate {
		if a := command(ctx, binary, dir, home, "config", "migrate", "--write"); a.code != 0 {
			return a
		}
	}
	return command(ctx, binary, dir, home, args...)
}

// command runs a binary in a folder.
func command(ctx context.Context, binary, dir, home string, args ...string) answer {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + home, "XDG_DATA_HOME=" + dir}
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	err := cmd.Run()
	a := answer{out: out.String(), err: strings.ReplaceAll(diag.String(), dir, "DIR")}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		a.code = exit.ExitCode()
	} else if err != nil {
		a.code, a.err = -1, err.Error()
	}
	return a
}

// measured are members that differ from run to run.
var measured = regexp.MustCompile(`(_ms|_ns|_us|duration|fuel|elapsed|created_at|_time|timings?|started|waited)$`)

// difference describes in one line where two answers differ. The line has no values, so that
// equal differences of many cases can be counted together. It is empty if the answers agree.
func difference(a, b answer) string {
	if a.code != b.code {
		return fmt.Sprintf("exit %d, then %d: %s", a.code, b.code, short(a.err+" | "+b.err))
	}
	if a.out == b.out {
		return ""
	}
	var x, y any
	if json.Unmarshal([]byte(a.out), &x) != nil || json.Unmarshal([]byte(b.out), &y) != nil {
		return "stdout"
	}
	return first("", x, y)
}

// first returns the path of the first member in which two documents differ.
func first(path string, x, y any) string {
	switch x := x.(type) {
	case map[string]any:
		y, ok := y.(map[string]any)
		if !ok {
			return path
		}
		return firstMember(path, x, y)
	case []any:
		y, ok := y.([]any)
		if !ok || len(x) != len(y) {
			return path + " (length)"
		}
		for i := range x {
			if d := first(path+"[]", x[i], y[i]); d != "" {
				return d
			}
		}
		return ""
	}
	if !reflect.DeepEqual(x, y) {
		if strings.HasSuffix(path, ".message") || strings.Contains(path, "problems") {
			return fmt.Sprintf("%s: %v | %v", path, short(fmt.Sprint(x)), short(fmt.Sprint(y)))
		}
		return path
	}
	return ""
}

func firstMember(path string, x, y map[string]any) string {
	names := map[string]bool{}
	for k := range x {
		names[k] = true
	}
	for k := range y {
		names[k] = true
	}
	all := make([]string, 0, len(names))
	for k := range names {
		all = append(all, k)
	}
	slices.Sort(all)
	for _, k := range all {
		if measured.MatchString(k) {
			continue
		}
		v, inX := x[k]
		w, inY := y[k]
		if inX != inY {
			return path + "." + k + " (absent in one)"
		}
		if d := first(path+"."+k, v, w); d != "" {
			return d
		}
	}
	return ""
}

var digits = regexp.MustCompile(`\d+`)

// short shortens texts so that those of many cases are equal: one line without numbers.
func short(text string) string {
	text = digits.ReplaceAllString(strings.Join(strings.Fields(text), " "), "N")
	if len(text) > 240 {
		text = text[:240] + "…"
	}
	return text
}
