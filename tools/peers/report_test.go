package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestReportJudgesByEino(t *testing.T) {
	cases := []benchCase{
		{key: key50}, {key: key50JSON}, {key: key50Looked}, {key: key1000}, {key: key50Cold},
		{key: keyEino}, {key: keyLangChain, skipped: "no node"},
	}
	figures := map[string]figure{
		key50:       {median: time.Second, least: 8 * time.Microsecond},
		key50JSON:   {median: 61 * time.Microsecond, least: 46 * time.Microsecond},
		key50Looked: {median: time.Second, least: time.Second},
		key1000:     {median: 80 * time.Microsecond, least: 45 * time.Microsecond},
		key50Cold:   {median: 801 * time.Microsecond, least: 181 * time.Microsecond},
		keyEino:     {median: 11 * time.Microsecond, least: 10 * time.Microsecond},
	}
	want := map[string]string{
		key50: verdictOK, key50JSON: verdictMissed, key50Looked: "", key1000: verdictOK, key50Cold: verdictMissed,
		keyEino: "", keyLangChain: verdictSkipped,
	}
	r := newReport(figures, cases, machine{rounds: 3})
	for _, row := range r.Rows {
		if row.Verdict != want[row.Key] {
			t.Errorf("%s: verdict %q, want %q", row.Key, row.Verdict, want[row.Key])
		}
	}
	if r.missed() != 2 {
		t.Errorf("missed %d, want 2", r.missed())
	}
	var table, doc bytes.Buffer
	if err := r.write(&table, "table"); err != nil || !strings.Contains(table.String(), "18.10 ≤ 18.0 of Eino  missed") {
		t.Errorf("table: %v\n%s", err, &table)
	}
	if err := r.write(&doc, "json"); err != nil || !json.Valid(doc.Bytes()) {
		t.Errorf("json: %v\n%s", err, &doc)
	}
}

func TestCasesRun(t *testing.T) {
	cases, err := hostCases()
	if err != nil {
		t.Fatal(err)
	}
	eino, err := einoCase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(cases, eino) {
		if s, err := c.time(2); err != nil || s.took <= 0 {
			t.Errorf("%s: %v, %v", c.key, s, err)
		}
	}
}

func TestMeasureTakesTheMedian(t *testing.T) {
	calls := 0
	c := benchCase{key: "fixed", round: func(context.Context) (sample, error) {
		calls++
		if round := calls % (roundsBefore + roundsPerTurn); calls <= roundsBefore+roundsPerTurn || round > 0 && round <= roundsBefore {
			return sample{runs: 1, took: 1, cpu: 1}, nil // warming up
		}
		return sample{runs: 2, took: time.Duration(2000 + 2*calls), cpu: 80}, nil
	}}
	figures, err := measure(t.Context(), []benchCase{c, {key: "absent", skipped: "why"}}, 3)
	if err != nil || figures["fixed"] != (figure{median: 1156, least: 1071, cpu: 40}) || len(figures) != 1 {
		t.Errorf("figures %v, %v", figures, err)
	}
}

func TestFlagsThatMakeNoSense(t *testing.T) {
	for _, args := range [][]string{{"-turns", "0"}, {"-o", "xml"}, {"more"}, {"-unknown"}} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != 2 || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%v: status %d, %q, %q", args, code, &out, &errs)
		}
	}
}
