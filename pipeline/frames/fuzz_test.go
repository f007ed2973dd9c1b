package frames

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// checkDecode holds what every decoder promises: a value or an error, and a value
// that survives being written and read again.
func checkDecode[T any](t *testing.T, data []byte, ok func(T) bool) {
	var v, zero T
	if err := json.Unmarshal(data, &v); err != nil {
		if !reflect.DeepEqual(v, zero) {
			t.Fatalf("an error and a value: %v, %+v", err, v)
		}
		return
	}
	if bytes.Equal(data, []byte("null")) {
		return
	}
	if !ok(v) {
		t.Fatalf("accepted %+v", v)
	}
	first, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("written: %v", err)
	}
	var again T
	if err := json.Unmarshal(first, &again); err != nil {
		t.Fatalf("read again: %v\n%s", err, first)
	}
	second, err := json.Marshal(again)
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("first  %s\nsecond %s\n%v", first, second, err)
	}
}

func addSeedFile(f *testing.F, name string) {
	f.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		f.Fatal(err)
	}
	var small bytes.Buffer // the fuzzer spends its time on what is short
	if err := json.Compact(&small, data); err != nil {
		f.Fatal(err)
	}
	f.Add(small.Bytes())
}

func FuzzDocument(f *testing.F) {
	addSeedFile(f, "seed_pipeline.json")
	f.Add([]byte(withKeys(`,"frames":[` + frame5 + `]`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkDecode(t, data, func(d Document) bool {
			p, err := Restore(t.Context(), d, Config{})
			if err != nil {
				t.Fatal(err)
			}
			for _, frame := range d.Frames {
				if frame.ID >= p.NextFrameID() || !frame.Kind.Valid() {
					return false
				}
			}
			return p.Len() == len(d.Frames)
		})
	})
}

func FuzzPlan(f *testing.F) {
	addSeedFile(f, "seed_plan.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		checkDecode(t, data, func(p Plan) bool { return p.ObjectType == TypePlan && p.CreatedBy.Validate() == nil })
	})
}

func FuzzIntent(f *testing.F) {
	addSeedFile(f, "seed_intent.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		checkDecode(t, data, func(in Intent) bool { return in.ObjectType == TypeIntent && in.HeaderVersion > 0 })
	})
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(frame5))
	f.Add([]byte(`{"frame_id":1,"kind":{"other":"a"},"summary":"s","data":{"a":[1,null]},"created_at":"2026-01-01T00:00:00+01:00","token_estimate":1,"max_frames":2,"max_tokens":3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkDecode(t, data, func(r Record) bool { return r.Kind.Valid() && r.ID <= MaxFrameID && r.Weight() <= maxWeight })
	})
}
