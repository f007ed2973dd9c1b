package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// broken loads the guest whose operation process does what it is told, and returns what
// calls it and has a call fail with a reason, "" for one that is good.
func broken(t *testing.T, cfg host.Config, limits host.Limits) (*host.Plugin, func(ctx context.Context, mode string, want abi.Reason)) {
	t.Helper()
	p := loadAllops(t, newHost(t, cfg), host.PluginConfig{Limits: limits})
	return p, func(ctx context.Context, mode string, want abi.Reason) {
		t.Helper()
		step, err := newStep(p, abi.OpProcess, host.OperationOptions{Settings: map[string]any{"mode": mode}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = step.Run(ctx, &abi.Query{Text: "q"}, twoRows())
		if want != "" {
			checkReason(t, err, want)
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// A plugin that fails again and again is not called for a time, and says so.
func TestFailingPluginsArePaused(t *testing.T) {
	allopsSpec(t) // so that what is built is not built in a bubble
	synctest.Test(t, checkBreaker)
}

// checkBreaker runs where time passes only when everybody waits.
func checkBreaker(t *testing.T) {
	var log bytes.Buffer
	p, call := broken(t, host.Config{Logger: slog.New(slog.NewJSONHandler(&log, nil))}, host.Limits{BreakAfter: 3, BreakMost: time.Minute, Timeout: time.Hour, InitTimeout: time.Hour})
	ctx := t.Context()
	call(ctx, "exit", abi.ReasonExit)
	call(ctx, "exit", abi.ReasonExit)
	call(ctx, "error", abi.ReasonGuestError) // which is a good answer, as is the next
	call(ctx, "none", "")
	for range 3 {
		call(ctx, "exit", abi.ReasonExit)
	}
	s := p.Stats()
	if s.Circuit != host.CircuitOpen || s.Failures != 3 || s.Breaks != 1 || time.Until(s.OpenUntil) > time.Minute || !s.OpenUntil.After(time.Now()) {
		t.Fatalf("%+v", s)
	}
	made := host.Made(p)
	_, err := p.Exchange(ctx, abi.OpProcess, host.LaneJSON, []byte("{}"))
	perr := checkReason(t, err, abi.ReasonCircuitOpen)
	if text := perr.Error(); !strings.Contains(text, "3 calls failed in a row") || !strings.Contains(text, "not called for ") || !strings.Contains(text, "limits.break_after") {
		t.Error(text)
	}
	if host.Made(p) > made+1 {
		t.Error("a paused plugin is called")
	}
	time.Sleep(time.Until(s.OpenUntil))
	if s := p.Stats(); s.Circuit != host.CircuitHalfOpen || !s.OpenUntil.IsZero() {
		t.Errorf("%+v", s)
	}
	call(ctx, "exit", abi.ReasonExit)
	call(ctx, "none", abi.ReasonCircuitOpen)
	time.Sleep(time.Minute)
	call(ctx, "none", "")
	if s := p.Stats(); s.Circuit != host.CircuitClosed || s.Failures != 0 || s.Breaks != 2 {
		t.Errorf("%+v", s)
	}
	var lines []string
	for line := range strings.Lines(log.String()) {
		var l struct {
			Msg, Error  string
			LastFailure string `json:"last_failure"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(l.Msg, "for one tenant") {
			lines = append(lines, l.Msg)
			if paused := strings.Contains(l.Msg, "paused"); paused != (l.Error != "" && l.LastFailure == "exit") {
				t.Errorf("the line does not say why: %s", line)
			}
		}
	}
	if want := []string{"the plugin is paused for one tenant", "the plugin is paused for one tenant", "the plugin is called again for one tenant"}; !slices.Equal(lines, want) {
		t.Errorf("log %q (want %q)", lines, want)
	}
}

// Callers that give up, or ask too much, do not have a plugin paused.
func TestWhatIsNoFailure(t *testing.T) {
	t.Parallel()
	p, call := broken(t, host.Config{}, host.Limits{BreakAfter: 1, Timeout: badLimit, Fuel: host.Unlimited})
	for range 2 {
		short, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
		call(short, "spin", abi.ReasonTimeout)
		end()
		gone, end := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, end)
		call(gone, "spin", abi.ReasonCancelled)
	}
	if s := p.Stats(); s.Circuit != host.CircuitClosed || s.Failures != 0 || s.Breaks != 0 {
		t.Errorf("%+v", s)
	}
	_, call = broken(t, host.Config{}, host.Limits{BreakAfter: 1, Timeout: badTime, Fuel: host.Unlimited})
	call(t.Context(), "spin", abi.ReasonTimeout)
	call(t.Context(), "none", abi.ReasonCircuitOpen)

	p, call = broken(t, host.Config{}, host.Limits{BreakAfter: -1})
	for range host.DefaultBreakAfter + 1 {
		call(t.Context(), "exit", abi.ReasonExit)
	}
	if s := p.Stats(); s.Circuit != host.CircuitClosed || s.Failures != host.DefaultBreakAfter+1 {
		t.Errorf("%+v", s)
	}
}

// What one tenant asks for has the plugin rest for that tenant only.
func TestRestsAreOfOneTenant(t *testing.T) {
	t.Parallel()
	p, call := broken(t, host.Config{}, host.Limits{BreakAfter: 2})
	a, b := host.WithTenant(t.Context(), "a"), host.WithTenant(t.Context(), "b")
	for range 2 {
		call(a, "exit", abi.ReasonExit)
		call(b, "none", "") // which does not reset what a's calls did
	}
	call(a, "none", abi.ReasonCircuitOpen)
	call(b, "none", "")
	call(t.Context(), "none", "")
	if s := p.Stats(); s.Circuit != host.CircuitOpen || s.Failures != 2 || s.Breaks != 1 {
		t.Errorf("rest %q after %d failures, %d rests; want open, 2, 1", s.Circuit, s.Failures, s.Breaks)
	}
}

// A request that takes much of the memory itself says nothing about the plugin.
func TestLargeRequestsRestNobody(t *testing.T) {
	t.Parallel()
	p := loadAllops(t, newHost(t, host.Config{}), host.PluginConfig{Limits: host.Limits{BreakAfter: 1, Memory: 32 << 20}})
	run := func(size int) error {
		step, err := newStep(p, abi.OpProcess, host.OperationOptions{Settings: map[string]any{"mode": "hog"}})
		if err != nil {
			t.Fatal(err)
		}
		items := twoRows()
		items[0].Content = strings.Repeat("x", size)
		_, err = step.Run(t.Context(), &abi.Query{Text: "q"}, items)
		return err
	}
	for range 2 {
		checkReason(t, run(5<<20), abi.ReasonMemory)
	}
	checkReason(t, run(1), abi.ReasonMemory)
	checkReason(t, run(1), abi.ReasonCircuitOpen)
}
