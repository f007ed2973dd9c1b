package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

func TestPluginErrorFormat(t *testing.T) {
	e := &PluginError{Plugin: "p", Step: "s", Operation: abi.OpFilter, Code: abi.ReasonTimeout,
		Err: as(context.DeadlineExceeded, errors.New("line one\nline\ttwo \x1b[2J")), Remedy: "wait", Log: "said this\n", Stack: "at f"}
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
	if !errors.Is(err, context.DeadlineExceeded) || pipeline.ReasonOf(err) != "timeout" || pipeline.PluginOf(err) != "p" {
		t.Errorf("deadline %t, reason %q, plugin %q", errors.Is(err, context.DeadlineExceeded), pipeline.ReasonOf(err), pipeline.PluginOf(err))
	}
}

func TestValidFormatType(t *testing.T) {
	for in, want := range map[string]bool{
		"": true, "markdown": true, "naïve": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false, "a\nb": false, "\x1b[31m": false,
	} {
		if got := validFormatType(in); got != want {
			t.Errorf("validFormatType(%q) = %t", in, got)
		}
	}
}
