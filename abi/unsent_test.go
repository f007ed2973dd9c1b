package abi

import "testing"

func TestUnsentColumn(t *testing.T) {
	for _, c := range Columns {
		if got, ok := UnsentColumn(c.Unsent()); got != c || !ok {
			t.Errorf("%q is about %v, %v", c.Unsent(), got, ok)
		}
	}
	for _, message := range []string{"", "anchor: column ", " was not sent", "anchor: column was not sent", "anchor: column  was not sent",
		"anchor: column vector was not sent", "anchor: column id was not sent\n", "column id was not sent", "Anchor: column id was not sent"} {
		if c, ok := UnsentColumn(message); ok {
			t.Errorf("%q is about %v", message, c)
		}
	}
}
