package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
)

// freshClone is a suite in a repository in which nothing was built or installed.
func freshClone(t *testing.T, stderr *bytes.Buffer) *suite {
	t.Helper()
	s, err := newSuite(t.Context(), &options{root: t.TempDir()}, stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func TestFreshCloneSaysWhatItLacks(t *testing.T) {
	var stderr bytes.Buffer
	s := freshClone(t, &stderr)
	s.opts.only = regexp.MustCompile("start|metering")
	s.announce(s.selected())
	want := "engine: not measured here: needs node and QuickJS (sh tools/toolchains/js.sh): metering/median (in part), metering/worst (in part)\n" +
		"engine: not measured here: needs the command and the example plugins (make build plugins): start\n"
	if got := stderr.String(); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	for _, r := range s.selected() {
		if r.partly == needQuickJS && !strings.HasPrefix(r.what, "metering, 18 of 22 programs") {
			t.Errorf("row %s: %s", r.name, r.what)
		}
	}
	for _, p := range s.programs() {
		if p.language == javaScript {
			t.Errorf("%s %s is among the programs", p.language, p.name)
		}
	}
}

func TestRestIsJudged(t *testing.T) {
	var stderr bytes.Buffer
	s := freshClone(t, &stderr)
	lacks := &need{"a thing", "get it", func(*suite) bool { return false }}
	has := &need{"another", "get it", func(*suite) bool { return true }}
	measured := func(value float64) func(context.Context) (reading, error) {
		return func(context.Context) (reading, error) { return reading{value: value}, nil }
	}
	rep := s.measureAll(t.Context(), []row{
		{name: "lacking", target: atLeast(times, 2, 0), needs: lacks, run: measured(3)},
		{name: "good", target: atLeast(times, 2, 0), needs: has, run: measured(3)},
		{name: "partial", target: atLeast(times, 2, 0), partly: lacks, run: measured(1)},
	})
	var verdicts []string
	for _, l := range rep.Rows {
		verdicts = append(verdicts, l.Verdict)
	}
	if got, want := strings.Join(verdicts, ", "), strings.Join([]string{verdictAbsent, verdictPass, verdictMiss}, ", "); got != want {
		t.Errorf("verdicts %s, want %s", got, want)
	}
	said, _, _ := strings.Cut(stderr.String(), "\n")
	if want := "engine: not measured here: needs a thing (get it): lacking, partial (in part)"; said != want {
		t.Errorf("it says first %q, want %q", said, want)
	}
	if detail := rep.Rows[0].Detail; detail != "not measured here: needs a thing (get it)" {
		t.Errorf("detail %q", detail)
	}
}

// A run in which every row lacks something has judged nothing, and must not look well.
func TestNothingMeasuredIsAFailure(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"-root", t.TempDir(), "-only", "^start$"}, &stdout, &stderr); status != 1 {
		t.Errorf("status %d: %s", status, stderr.String())
	}
	if !strings.Contains(stderr.String(), "of 1 rows 0 missed their gate or failed, and 1 could not be measured") {
		t.Errorf("stderr %s", stderr.String())
	}
}
