package tokens

import (
	"fmt"
	"strings"
	"testing"
)

func TestObserveLines(t *testing.T) {
	c := newCalibration(t, 0.9, 1.6)
	used, refused, err := c.ObserveLines(strings.NewReader(strings.Join([]string{
		`{"model": "claude-sonnet-4-5-20250929", "base_tokens": 1000, "usage": {"input_tokens": 1200, "output_tokens": 7, "service_tier": "standard"}}`,
		``,
		`{"base_tokens": 2000, "usage": {"input_tokens": 400, "cache_read_input_tokens": 1500, "cache_creation_input_tokens": 500}}`,
		`{"model": "claude-opus-4-7", "base_tokens": 1000, "usage": {"input_tokens": 1590}}`,
		`{"base_tokens": 100, "usage": {"input_tokens": 900}}`,
	}, "\n")), "anthropic/claude-sonnet-4.5")
	if err != nil || used != 2 || refused != 1 {
		t.Fatalf("%d used, %d refused, %v", used, refused, err)
	}
	if low, high := c.Factors(); low > 1.2 || high < 1.2 || high > 1.4 {
		t.Errorf("factor %v to %v", low, high)
	}
}

func TestObserveLinesRefuses(t *testing.T) {
	good := `{"base_tokens": 1000, "usage": {"input_tokens": 1200}}` + "\n"
	for _, tc := range []struct{ text, want string }{
		{good + `{"base_tokens": 1000`, "usage figures: line 2: unexpected end of JSON input"},
		{good + good + `[]`, "line 3: json: cannot unmarshal array"},
		{`{"usage": {"input_tokens": 1200}}`, "line 1: base_tokens 0: want 1 or more"},
		{`{"base_tokens": 1000}`, "line 1: usage: want an object with input_tokens, 0 or more"},
		{`{"base_tokens": 1000, "usage": {"input_tokens": -1}}`, "line 1: usage: want an object"},
		{`{"base_tokens": 1000, "usage": {"input_tokens": 9223372036854775807, "cache_read_input_tokens": 1}}`, "line 1: usage: the numbers of tokens add up to more than an integer holds"},
		{good + strings.Repeat(" ", maxUsageLine+1), "line 2: bufio.Scanner: token too long"},
	} {
		c := newCalibration(t, 0.9, 1.6)
		if _, _, err := c.ObserveLines(strings.NewReader(tc.text), "claude-sonnet-4-5"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60s: %v, want %s", tc.text, err, tc.want)
		}
	}
}

func TestObserveLinesOfUnknownModels(t *testing.T) {
	figures := strings.Repeat(`{"model": "Cloud-1", "base_tokens": 1000, "usage": {"input_tokens": 1200}}`+"\n", 2) +
		`{"model": "cloud-2", "base_tokens": 1000, "usage": {"input_tokens": 1200}}`
	if used, refused, err := newCalibration(t, 0.8, 2.8).ObserveLines(strings.NewReader(figures), "openrouter/cloud-1"); used != 2 || refused != 0 || err != nil {
		t.Errorf("%d used, %d refused, %v", used, refused, err)
	}
}

func FuzzObserveLines(f *testing.F) {
	f.Add(`{"model": "claude-3", "base_tokens": 1000, "usage": {"input_tokens": 1200}}`)
	f.Fuzz(func(t *testing.T, text string) {
		c := newCalibration(t, 0.9, 1.6)
		used, _, _ := c.ObserveLines(strings.NewReader(text), "claude-3-haiku")
		if low, high := c.Factors(); !(low > 0 && low <= high && high <= 3.2) || used > 0 && c.Observations() == 0 {
			t.Errorf("%d used: %v to %v", used, low, high)
		}
	})
}

func ExampleCalibration_ObserveLines() {
	c, _ := NewCalibration(0.9, 1.6)
	figures := `{"base_tokens": 1000, "usage": {"input_tokens": 1180}}
{"base_tokens": 1500, "usage": {"input_tokens": 15, "cache_read_input_tokens": 1800}}`
	fmt.Println(c.ObserveLines(strings.NewReader(figures), "claude-sonnet-4-5"))
	// Output: 2 0 <nil>
}
