package traceparent

import (
	"net/http"
	"testing"
)

func TestOf(t *testing.T) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for value, want := range map[string]string{
		good:                      good,
		"01" + good[2:]:           "01" + good[2:],
		"01" + good[2:] + "-more": "01" + good[2:] + "-more",
		good + "-more":            "",
		"ff" + good[2:]:           "",
		good[:54]:                 "",
		"00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": "",
		"": "",
	} {
		if got := Of(http.Header{Header: {value}}); got != want {
			t.Errorf("%q: got %q", value, got)
		}
	}
	if got := Of(http.Header{Header: {good, good}}); got != "" {
		t.Errorf("two of them: got %q", got)
	}
	sent := http.Header{}
	Set(With(t.Context(), good), sent)
	if sent.Get(Header) != good {
		t.Errorf("sent: %v", sent)
	}
}

func FuzzValid(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	f.Fuzz(func(t *testing.T, s string) {
		if valid(s) && (len(s) < 55 || len(s) > 512) {
			t.Errorf("%q is valid", s)
		}
	})
}
