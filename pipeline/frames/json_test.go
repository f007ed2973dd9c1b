package frames

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// The files in testdata are documents as git-internal 0.6.0 writes them.
func readSeedFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// roundTrip decodes a document, encodes it and compares both as values.
func roundTrip(t *testing.T, data string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), to); err != nil {
		t.Fatal(err)
	}
	var want any
	if err := json.Unmarshal([]byte(data), &want); err != nil {
		t.Fatal(err)
	}
	if got := asAny(t, to); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", toJSON(t, got), toJSON(t, want))
	}
}

func TestSeedPipelineRoundTrip(t *testing.T) {
	var d Document
	roundTrip(t, readSeedFile(t, "seed_pipeline.json"), &d)
	if d.Frames[2].Kind != Other("audit") || d.Frames[1].TokenEstimate != Tokens(150) || string(d.Frames[1].Data) != `{"files":["a.rs","b.rs"]}` {
		t.Errorf("frames %+v", d.Frames)
	}
	p, err := Restore(t.Context(), d, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := toJSON(t, p), toJSON(t, d); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if id := push(t, p, StepSummary, "next"); id != 9 {
		t.Errorf("next id %d, want 9", id)
	}
	wantIDs(t, p.Window().IDs(), 0, 8, 9)
}

func TestSeedPlanRoundTrip(t *testing.T) {
	var p Plan
	roundTrip(t, readSeedFile(t, "seed_plan.json"), &p)
	if *p.FWindow != (Positions{2, 7}) || p.Steps[0].Status() != StepCompleted || p.Steps[1].Status() != StepPending {
		t.Errorf("plan %+v", p)
	}
}

func TestSeedIntentRoundTrip(t *testing.T) {
	var in Intent
	roundTrip(t, readSeedFile(t, "seed_intent.json"), &in)
	if in.Prompt() != "Add pagination" || in.Status() != IntentActive || len(in.Statuses()) != 2 {
		t.Errorf("intent %+v", in)
	}
}

// bare is the smallest pipeline document, with room for more keys.
const bare = `{"object_id":"0198f000-0000-7000-8000-000000000001","object_type":"context_pipeline","schema_version":1,` +
	`"created_at":"2026-01-01T00:00:00Z","created_by":{"kind":"human","id":"ada"},"visibility":"private"%}`

func withKeys(keys string) string { return strings.Replace(bare, "%", keys, 1) }

func TestAbsentKeysHaveDefaults(t *testing.T) {
	for _, keys := range []string{"", `,"updated_at":null,"tags":null,"checksum":null,"global_summary":null,"header_version":null`} {
		var d Document
		if err := json.Unmarshal([]byte(withKeys(keys)), &d); err != nil {
			t.Fatal(err)
		}
		if !d.UpdatedAt.Equal(epoch) || d.HeaderVersion != 1 || d.NextFrameID != 0 || d.Limits != (Limits{}) || d.Tags == nil {
			t.Errorf("%q: %+v", keys, d)
		}
	}
}

const frame5 = `{"frame_id":5,"kind":"tool_call","summary":"t","created_at":"2026-01-01T00:00:00Z"}`

// The seed restarts at 0 and gives ids out a second time.
func TestNextFrameIDIsAboveAllIDs(t *testing.T) {
	for keys, want := range map[string]uint64{
		`,"frames":[` + frame5 + `]`:                        6,
		`,"frames":[` + frame5 + `],"next_frame_id":0`:      6,
		`,"frames":[` + frame5 + `],"next_frame_id":5`:      6,
		`,"frames":[` + frame5 + `],"next_frame_id":9`:      9,
		`,"next_frame_id":7`:                                7,
		`,"next_frame_id":9223372036854775807`:              MaxFrameID + 1,
		`,"frames":[` + frame5 + `],"next_frame_id":null`:   6,
		`,"frames":[],"max_frames":3,"max_tokens":9000`:     0,
		`,"repo_id":"0198f000-0000-7000-8000-000000000002"`: 0,
	} {
		var d Document
		if err := json.Unmarshal([]byte(withKeys(keys)), &d); err != nil || d.NextFrameID != want {
			t.Errorf("%s: next id %d, %v; want %d", keys, d.NextFrameID, err, want)
		}
	}
}

func TestDocumentErrors(t *testing.T) {
	for name, c := range map[string]struct {
		data, want string
		is         error
	}{
		"not an object": {`[]`, `pipeline: []: invalid value (want an object)`, pipeline.ErrInvalid},
		"empty":         {`{}`, `: missing: invalid value`, pipeline.ErrInvalid},
		"unknown key":   {withKeys(`,"next_frame":1`), `pipeline: next_frame: unknown key: invalid value (did you mean "next_frame_id"?)`, pipeline.ErrInvalid},
		"twice":         {withKeys(`,"max_frames":1,"max_frames":2`), `pipeline: max_frames: given twice: invalid value`, pipeline.ErrInvalid},
		"null twice":    {withKeys(`,"max_frames":null,"max_frames":2`), `pipeline: max_frames: given twice: invalid value`, pipeline.ErrInvalid},
		"same id":       {withKeys(`,"frames":[` + frame5 + `,` + frame5 + `]`), `pipeline: frames[1]: frame 5 after 5: frame ids out of order`, ErrOrder},
		"huge id":       {withKeys(`,"frames":[` + strings.Replace(frame5, "5", "9223372036854775807", 1) + `]`), `pipeline: frames[0]: frame: frame_id 9223372036854775807: invalid value (want 9223372036854775806 or less)`, pipeline.ErrInvalid},
		"huge next id":  {withKeys(`,"next_frame_id":9223372036854775808`), `pipeline: next_frame_id 9223372036854775808: invalid value (want 9223372036854775807 or less)`, pipeline.ErrInvalid},
		"null frame":    {withKeys(`,"frames":[null]`), `pipeline: frames[0]: null: invalid value (want an object)`, pipeline.ErrInvalid},
		"type":          {strings.Replace(withKeys(``), "context_pipeline", "plan", 1), `pipeline: object_type "plan": invalid value (want "context_pipeline")`, pipeline.ErrInvalid},
		"header 0":      {withKeys(`,"header_version":0`), `pipeline: header_version 0: invalid value (want 1 or more)`, pipeline.ErrInvalid},
		"schema 0":      {strings.Replace(withKeys(``), `"schema_version":1`, `"schema_version":0`, 1), `pipeline: schema_version 0: invalid value (want 1 or more)`, pipeline.ErrInvalid},
		"actor":         {strings.Replace(withKeys(``), `"ada"`, `" "`, 1), `pipeline: created_by: actor: id is empty: invalid value (say who creates this)`, pipeline.ErrInvalid},
		"visibility":    {strings.Replace(withKeys(``), `private`, `secret`, 1), `pipeline: visibility "secret": invalid value (want "private" or "public")`, pipeline.ErrInvalid},
		"uuid":          {strings.Replace(withKeys(``), `0198f000-`, `0198g000-`, 1), `pipeline: object_id: uuid "0198g000-0000-7000-8000-000000000001": invalid value (want 8-4-4-4-12 hex digits)`, pipeline.ErrInvalid},
		"null tag":      {withKeys(`,"tags":{"a":null}`), `pipeline: tags.a: null: invalid value (want a string)`, pipeline.ErrInvalid},
		"year":          {strings.Replace(withKeys(``), `2026-01-01T00:00:00Z`, `9999-12-31T23:59:59-01:00`, 1), `pipeline: created_at: year 10000: invalid value (want 0 to 9999)`, pipeline.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			var d Document
			err := json.Unmarshal([]byte(c.data), &d)
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.is) {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if !reflect.DeepEqual(d, Document{}) {
				t.Errorf("an error and a value: %+v", d)
			}
		})
	}
}

func TestKindJSON(t *testing.T) {
	for _, c := range []struct {
		kind          Kind
		text, display string
		protected     bool
	}{
		{IntentAnalysis, `"intent_analysis"`, "intent_analysis", true},
		{Checkpoint, `"checkpoint"`, "checkpoint", true},
		{ToolCall, `"tool_call"`, "tool_call", false},
		{Other("audit"), `{"other":"audit"}`, "audit", false},
		{Other("checkpoint"), `{"other":"checkpoint"}`, "checkpoint", false},
		{Other(""), `{"other":""}`, "", false},
		{Other("other:x"), `{"other":"other:x"}`, "other:x", false},
	} {
		if got := toJSON(t, c.kind); got != c.text {
			t.Errorf("kind %s is %s, want %s", c.kind, got, c.text)
		}
		var read Kind
		if err := json.Unmarshal([]byte(c.text), &read); err != nil || read != c.kind {
			t.Errorf("%s is read as %q, %v", c.text, string(read), err)
		}
		if c.kind.String() != c.display || c.kind.Protected() != c.protected {
			t.Errorf("%s: display %q, protected %v", c.text, c.kind.String(), c.kind.Protected())
		}
	}
	for _, text := range []string{`"audit"`, `"other:audit"`, `"Checkpoint"`, `""`, `1`, `{}`, `{"other":1}`, `{"other":"a","b":1}`, `{"checkpoint":null}`} {
		kind := ToolCall
		if err := json.Unmarshal([]byte(text), &kind); err == nil || kind != ToolCall {
			t.Errorf("%s is read as %q", text, string(kind))
		}
	}
	if _, err := json.Marshal(Kind("audit")); err == nil {
		t.Error("a kind that is none was written")
	}
	if _, err := ParseKind("audit"); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("ParseKind: %v", err)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	r := Record{
		Frame:  Frame{ID: 3, Kind: Other("audit"), Summary: "s", Data: json.RawMessage(`[1]`), CreatedAt: epoch, TokenEstimate: Tokens(0)},
		Limits: Limits{MaxFrames: 50, MaxTokens: 8000},
	}
	text := toJSON(t, r)
	const want = `{"frame_id":3,"kind":{"other":"audit"},"summary":"s","data":[1],"created_at":"2026-01-01T00:00:00Z","token_estimate":0,"max_frames":50,"max_tokens":8000}`
	if text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	var read Record
	if err := json.Unmarshal([]byte(text), &read); err != nil || !reflect.DeepEqual(read, r) {
		t.Errorf("read %+v, %v", read, err)
	}
}

func TestUUID(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 500_000, time.UTC)
	id, later := NewUUID(at), NewUUID(at.Add(time.Microsecond))
	text := id.String()
	if text[14] != '7' || !strings.Contains("89ab", text[19:20]) || text[:18] != "019b76da-a800-7800" {
		t.Errorf("uuid %s", text)
	}
	if id == NewUUID(at) || text >= later.String() {
		t.Errorf("uuids are not unique, or not in the order of time: %s, %s", text, later)
	}
	read, err := ParseUUID(strings.ToUpper(text))
	if err != nil || read != id {
		t.Errorf("parsed %s, %v", read, err)
	}
	for _, bad := range []string{"", "0", strings.ReplaceAll(text, "-", ""), text + "0", strings.Replace(text, "-", "_", 1), "g" + text[1:]} {
		if _, err := ParseUUID(bad); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if before := NewUUID(time.Unix(-5, 0)); before.String()[:13] != "00000000-0000" {
		t.Errorf("uuid of a time before 1970: %s", before)
	}
}
