package memory

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// fullEntry has a value in every field.
func fullEntry() Entry {
	return Entry{
		ID: "e1", Content: "Prefers tea.", Relevance: 0.25, AccessCount: 3,
		LastAccessed: epoch.Add(3 * time.Hour), CreatedAt: epoch, UpdatedAt: epoch.Add(time.Nanosecond),
		Tags: []string{"a", "b"}, Metadata: map[string]any{"n": int64(1<<53 + 1), "f": 0.5, "l": []any{"x", nil, true}, "m": map[string]any{"k": int64(1)}},
		Type: Episodic, UserID: "ann", SessionID: "s1", ExpiresAt: epoch.Add(time.Hour),
		ContentHash: "given", SourceTurns: []string{"turn-1"}, Links: []string{"e2"},
	}
}

func TestEntryJSONIsThatOfTheSeed(t *testing.T) {
	full, err := json.Marshal(fullEntry())
	want := `{"id":"e1","content":"Prefers tea.","relevance_score":0.25,"access_count":3,"last_accessed":"2026-01-01T03:00:00Z","created_at":"2026-01-01T00:00:00Z",` +
		`"tags":["a","b"],"metadata":{"f":0.5,"l":["x",null,true],"m":{"k":1},"n":9007199254740993},"memory_type":"episodic","user_id":"ann","session_id":"s1",` +
		`"expires_at":"2026-01-01T01:00:00Z","updated_at":"2026-01-01T00:00:00.000000001Z","content_hash":"given","source_turns":["turn-1"],"links":["e2"]}`
	if err != nil || string(full) != want {
		t.Errorf("full:\n%s, %v, want\n%s", full, err, want)
	}
	var back Entry
	if err := json.Unmarshal(full, &back); err != nil || !reflect.DeepEqual(back, fullEntry()) {
		t.Errorf("decoded %+v, %v", back, err)
	}
	empty, err := json.Marshal(Entry{ID: "e", Type: Semantic})
	want = `{"id":"e","content":"","relevance_score":0,"access_count":0,"tags":[],"metadata":{},"memory_type":"semantic","user_id":null,"session_id":null,"expires_at":null,"content_hash":"","source_turns":[],"links":[]}`
	if err != nil || string(empty) != want {
		t.Errorf("empty:\n%s, %v, want\n%s", empty, err, want)
	}
}

func TestEntryOfContentAlone(t *testing.T) {
	var e Entry
	err := json.Unmarshal([]byte(` {"content":"x","user_id":null,"tags":null,"access_count":2.0} `), &e)
	want := Entry{Content: "x", Relevance: 0.5, Type: Semantic, AccessCount: 2, ContentHash: "9dd4e461268c8034f5c8564e155c67a6"}
	if err != nil || !reflect.DeepEqual(e, want) {
		t.Errorf("%+v, %v, want %+v", e, err, want)
	}
}

func TestEntryDecodingIsStrict(t *testing.T) {
	for doc, want := range map[string]string{
		`{}`:                                                   `fact: content: missing: invalid value`,
		`{"content":null}`:                                     `fact: content: null: invalid value (want a string)`,
		`{"content":5}`:                                        `fact: content: 5: invalid value (want a string)`,
		`{"content":"a","content":"b"}`:                        `fact: content: given twice: invalid value`,
		`{"content":"a","color":1}`:                            `fact: color: unknown key: invalid value (want one of id, content, relevance_score, access_count, last_accessed, created_at, tags, metadata, memory_type, user_id, session_id, expires_at, updated_at, content_hash, source_turns, links)`,
		`{"content":"a","Tags":[]}`:                            `fact: Tags: unknown key: invalid value (did you mean "tags"?)`,
		`{"content":"a","tags":[null]}`:                        `fact: tags[0]: null: invalid value (want a string)`,
		`{"content":"a","tags":"t"}`:                           `fact: tags: "t": invalid value (want a list of strings)`,
		`{"content":"a","access_count":-1}`:                    `fact "": access_count -1: invalid value (want 0 or more)`,
		`{"content":"a","access_count":1.5}`:                   `fact: access_count: 1.5: invalid value (want an integer)`,
		`{"content":"a","access_count":"1"}`:                   `fact: access_count: "1": invalid value (want an integer)`,
		`{"content":"a","access_count":1e300}`:                 `fact: access_count: 1e300: invalid value (want an integer)`,
		`{"content":"a","relevance_score":1.01}`:               `fact "": relevance_score 1.01: invalid value (want 0 to 1)`,
		`{"content":"a","memory_type":"vague"}`:                `fact "": memory_type "vague": invalid value (want semantic, episodic, procedural or conversation)`,
		`{"content":"a","metadata":[]}`:                        `fact: metadata: []: invalid value (want an object)`,
		`{"content":"a","metadata":{"n":9223372036854775808}}`: `fact: metadata.n: 9223372036854775808: invalid value (want an integer within 64 bits; write it as a string)`,
		`{"content":"a","metadata":{"l":[1e999]}}`:             `fact: metadata.l[0]: 1e999: invalid value (want a number within float64)`,
		`{"content":"a"} {}`:                                   `invalid character '{' after top-level value`,
		`[]`:                                                   `fact: []: invalid value (want an object)`,
	} {
		e := fullEntry()
		err := json.Unmarshal([]byte(doc), &e)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
		if !reflect.DeepEqual(e, fullEntry()) {
			t.Errorf("%s: entry changed to %+v", doc, e)
		}
	}
	var e Entry
	if err := json.Unmarshal([]byte(`{"content":"a","expires_at":"tomorrow"}`), &e); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("a time that is none: %v", err)
	}
}

func TestValidateRefusesNaN(t *testing.T) {
	if err := (&Entry{Relevance: math.NaN(), Type: Semantic}).Validate(); !errors.Is(err, pipeline.ErrInvalid) {
		t.Error(err)
	}
}

func TestExpiry(t *testing.T) {
	e := Entry{ExpiresAt: epoch}
	for at, want := range map[time.Duration]bool{-1: false, 0: true, 1: true} {
		if e.Expired(epoch.Add(at)) != want {
			t.Errorf("%d ns after the expiry: expired %v", at, !want)
		}
	}
	if (&Entry{}).Expired(epoch) {
		t.Error("an entry without expiry has expired")
	}
}

func TestCloneSharesNothing(t *testing.T) {
	e := fullEntry()
	c := e.Clone()
	c.Tags[0], c.Links[0], c.SourceTurns[0] = "x", "x", "x"
	c.Metadata["l"].([]any)[0] = "changed"
	if !reflect.DeepEqual(e, fullEntry()) {
		t.Errorf("%+v changed with its clone", e)
	}
}

// FuzzEntry holds that decoding gives an entry or an error, that what was decoded is
// valid, and that it survives being written.
func FuzzEntry(f *testing.F) {
	full, err := json.Marshal(fullEntry())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	f.Add([]byte(`{"content":"x","metadata":{"a":{"b":[1,2.5,"\ud800"]}},"relevance_score":0}`))
	f.Add([]byte(`{"content":"x","expires_at":"9999-12-31T23:59:59+23:59"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Entry
		if err := e.UnmarshalJSON(data); err != nil {
			if !reflect.DeepEqual(e, Entry{}) {
				t.Fatalf("error %v and entry %+v", err, e)
			}
			return
		}
		if err := e.Validate(); err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
		var back Entry
		if err := json.Unmarshal(written, &back); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(written) {
			t.Fatalf("%s, then %s, %v", written, again, err)
		}
	})
}
