package host

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
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

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\r\nb\n\nc": "a; b; c", "right\u202Eleft": "right\uFFFDleft", "\xff": "\uFFFD", "naïve": "naïve",
		"line\u2028paragraph\u2029end": "line\uFFFDparagraph\uFFFDend",
		strings.Repeat("é", 600):       strings.Repeat("é", 512) + "…",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("oneLine(%q) = %q (want %q)", in, got, want)
		}
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

func TestHostMatches(t *testing.T) {
	for _, tc := range []struct {
		pattern, host string
		want          bool
	}{
		{"example.com", "example.com", true}, {"example.com", "EXAMPLE.com.", true}, {"example.com", "a.example.com", false},
		{"*.example.com", "a.example.com", true}, {"*.example.com", "a.b.example.com", true}, {"*.example.com", "example.com", false},
		{"*.example.com", ".example.com", false}, {"*.example.com", "badexample.com", false}, {"*.0.0.1", "127.0.0.1", true},
		{"*", "anything", false}, {"localhost", "127.0.0.1", false},
		{"::1", "::1", true}, {"[::1]", "::1", true}, {"0:0:0:0:0:0:0:1", "::1", true}, {"2001:DB8::1", "2001:db8::1", true},
		{"::1", "::2", false}, {"::1", "localhost", false}, {"::ffff:127.0.0.1", "127.0.0.1", false}, {"fe80::1", "fe80::1%eth0", false},
	} {
		if got := hostMatches(tc.pattern, tc.host); got != tc.want {
			t.Errorf("hostMatches(%q, %q) = %t", tc.pattern, tc.host, got)
		}
	}
}

func TestPublicAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"0.0.0.0": false, "224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false, "240.0.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fd00::1": false, "ff02::1": false, "::ffff:10.0.0.1": false, "64:ff9b::a00:1": false,
		"2002:a00:1::": false,
	} {
		if got := publicAddress(netip.MustParseAddr(address).Unmap()); got != want {
			t.Errorf("publicAddress(%s) = %t", address, got)
		}
	}
}

func TestCaptureIsBounded(t *testing.T) {
	c := capture{limit: 10}
	for range 100 {
		if n, err := c.Write([]byte("abcdef")); n != 6 || err != nil {
			t.Fatal(n, err)
		}
	}
	if c.tail() != "abcdefabcd" || c.dropped != 590 || c.line("info", "more") {
		t.Errorf("kept %q, dropped %d", c.tail(), c.dropped)
	}
	c.reset()
	if c.tail() != "" || !c.line("info", "m") || c.tail() != "info: m\n" {
		t.Errorf("after reset %q", c.tail())
	}
}
