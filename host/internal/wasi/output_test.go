package wasi

import "testing"

// Output beyond the limit is dropped and is no error of the guest.
func TestOutputIsBounded(t *testing.T) {
	o := Output{limit: 10}
	for range 100 {
		if n, err := o.Write([]byte("abcdef")); n != 6 || err != nil {
			t.Fatal(n, err)
		}
	}
	if o.Tail(20) != "abcdefabcd" || o.Tail(3) != "bcd" || o.Line("info", "more") {
		t.Errorf("kept %q, its end %q", o.Tail(20), o.Tail(3))
	}
	o.Reset()
	if o.Tail(20) != "" || !o.Line("info", "m") || o.Tail(20) != "info: m\n" {
		t.Errorf("after reset %q", o.Tail(20))
	}
}
