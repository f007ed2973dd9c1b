package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(with(`"filter":{"reads":["score"]}`, "")))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if (m == nil) == (err == nil) {
			t.Fatalf("value %v and error %v", m, err)
		}
		if err != nil {
			if !errors.Is(err, ErrInvalid) || bytes.ContainsRune([]byte(err.Error()), '\n') {
				t.Fatalf("error %q", err)
			}
			return
		}
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out2, err := json.Marshal(again)
		if err != nil || !bytes.Equal(out, out2) {
			t.Fatalf("round trip:\n%s\n%s", out, out2)
		}
	})
}
