package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

func TestPluginErrorFormat(t *testing.T) {
	e := &PluginError{Plugin: "p", Step: "s", Operation: abi.OpFilter, Code: abi.ReasonTimeout,
		Err: errkind.As(context.DeadlineExceeded, errors.New("line one\nline\ttwo \x1b[2J")), Remedy: "wait", Log: "said this\n", Stack: "at f"}
	line := `plugin "p": filter: timeout: line one; line` + "\uFFFD" + `two ` + "\uFFFD" + `[2J (wait)`
	for format, want := range map[string]string{
		"%v": line, "%s": line, "%q": fmt.Sprintf("%q", line),
		"%+v": line + "\nguest output:\nsaid this\nguest stack:\nat f",
	} {
		if got := fmt.Sprintf(format, e); got != want {
			t.Errorf("%s: %q\nwant %q", format, got, want)
		}
	}
	err := fmt.Errorf("step: %w", e)
	var named interface { // what a pipeline looks for
		Reason() string
		PluginName() string
	}
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &named) || named.Reason() != "timeout" || named.PluginName() != "p" {
		t.Errorf("%v has not the reason and the plugin", err)
	}
}

// Each reason says whether to retry, and what marks the cause decides before it. The table in
// errors.go has a line for each reason and each sentinel.
func TestWhatToRetry(t *testing.T) {
	now := map[abi.Reason]bool{abi.ReasonBusy: true, abi.ReasonCircuitOpen: true}
	for _, code := range abi.Reasons {
		for mark, want := range map[error]bool{nil: now[code], ErrClosed: false, guest.ErrNoRoom: true, ErrEmbedder: true, ErrFolder: now[code], context.DeadlineExceeded: now[code]} {
			e := &PluginError{Code: code, Err: errors.New("the cause")}
			if mark != nil {
				e.Err = errkind.As(mark, e.Err)
			}
			if e.Retryable() != want {
				t.Errorf("%s, cause %v: retryable %t, want %t", code, mark, !want, want)
			}
		}
	}
	source, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(source), "func ") // the comments that go doc shows
	table := strings.Join(regexp.MustCompile(`(?m)^//.*$`).FindAllString(before, -1), "\n")
	for _, code := range abi.Reasons {
		if !regexp.MustCompile(`(?m)^//\t` + string(code) + ` +\S`).MatchString(table) {
			t.Errorf("the table in errors.go has no line for %s", code)
		}
	}
	for _, sentinel := range regexp.MustCompile(`(?m)^\t(Err\w+) `).FindAllStringSubmatch(before, -1) {
		if !strings.Contains(table, sentinel[1]) {
			t.Errorf("the table in errors.go does not name %s", sentinel[1])
		}
	}
}
