package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func ptr[T any](v T) *T { return &v }

var allChanges = func() ChangeSet {
	s, _ := ChangesOf(AllChanges)
	return s
}()

// wideGrant allows whatever a sound change set can say.
func wideGrant() Grant {
	return Grant{Writes: allChanges, MaxItems: MaxRows, MaxPriority: MaxPriority, Sources: []string{"retrieval", "tool", "user"}}
}

// goldenChanges has every part and every kind of value.
func goldenChanges() *Changes {
	return &Changes{
		Keep: []uint32{0, 2, 3},
		Edits: []Edit{
			{Row: 0, Content: ptr("redacted – \U0001f98a"), Metadata: Metadata{"pii": int64(2), "ratio": 1.0}},
			{Row: 2, Metadata: Metadata{}},
			{Row: 3, Content: ptr(""), Priority: ptr(3)},
		},
		Scores: []RowScore{{3, 0.25}, {0, 1}},
		Items: []NewItem{
			{Key: "k", Content: "new text", Source: "tool", Score: 0.5, Priority: 4, CreatedAt: time.Unix(0, 1).UTC(),
				Metadata: Metadata{"big": int64(math.MinInt64), "list": []any{int64(1), 1.5, "s", nil, true}}},
			{Content: "another"},
		},
		Order: []uint32{5, 3, 0, 2, 4},
	}
}

// Both lanes decode to the value that was encoded.
func checkLanes(t *testing.T, c *Changes) {
	t.Helper()
	bin, err := AppendChanges([]byte("xyz"), c)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := AppendChangesJSON(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	fromBin, err := DecodeChanges(bin[3:])
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	fromDoc, err := DecodeChangesJSON(doc)
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	if !reflect.DeepEqual(fromBin, fromDoc) {
		t.Fatalf("the lanes differ:\nbatch %+v\nJSON  %+v", fromBin, fromDoc)
	}
	again, err := AppendChanges(nil, fromBin)
	if err != nil || !bytes.Equal(again, bin[3:]) {
		t.Fatalf("encoding the decoded change set gives other bytes (%v)", err)
	}
}

func TestChangesLanes(t *testing.T) {
	want := goldenChanges()
	bin, err := AppendChanges(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeChanges(bin)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if err := got.Check(4, wideGrant()); err != nil {
		t.Error(err)
	}
	for _, c := range []*Changes{
		want, {}, {Keep: []uint32{}}, {Order: []uint32{}}, {Keep: []uint32{1}, Order: []uint32{1}},
		{Scores: []RowScore{{7, 0}}}, {Items: []NewItem{{Content: "x"}}},
	} {
		checkLanes(t, c)
	}
}

// Random sound change sets pass Check and mean the same in both lanes.
func TestChangesLanesProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		rows := rng.IntN(40)
		c := randomChanges(rng, rows)
		if err := c.Check(rows, wideGrant()); err != nil {
			t.Fatalf("%v\n%+v", err, c)
		}
		checkLanes(t, c)
	}
}

func randomChanges(rng *rand.Rand, rows int) *Changes {
	c := &Changes{}
	left := []uint32{}
	for r := range uint32(rows) {
		if rng.IntN(3) > 0 {
			left = append(left, r)
		}
	}
	if len(left) < rows {
		c.Keep = slices.Clone(left)
	}
	for _, r := range left {
		e := Edit{Row: r}
		if rng.IntN(3) == 0 {
			e.Content = ptr(randomText(rng))
		}
		if rng.IntN(3) == 0 {
			e.Metadata = randomMetadata(rng)
		}
		if rng.IntN(3) == 0 {
			e.Priority = ptr(1 + rng.IntN(10))
		}
		if e.Content != nil || e.Metadata != nil || e.Priority != nil {
			c.Edits = append(c.Edits, e)
		}
		if rng.IntN(2) == 0 {
			c.Scores = append(c.Scores, RowScore{r, rng.Float64()})
		}
	}
	for range rng.IntN(4) {
		it := NewItem{Key: fmt.Sprintf("k – %d", rng.IntN(9)), Content: "c" + randomText(rng), Score: float64(rng.IntN(3)) / 2, Priority: rng.IntN(11)}
		if rng.IntN(2) == 0 {
			it.Source, it.CreatedAt = "tool", time.Unix(rng.Int64N(1e9), rng.Int64N(1e9)).UTC()
		}
		if m := randomMetadata(rng); len(m) > 0 {
			it.Metadata = m
		}
		c.Items = append(c.Items, it)
		left = append(left, uint32(rows+len(c.Items)-1))
	}
	if rng.IntN(2) == 0 {
		rng.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
		c.Order = left
	}
	return c
}

func randomText(rng *rand.Rand) string {
	s := ""
	for range rng.IntN(12) {
		s += string([]rune("ab \n\"\\\x00\x1fé–\u2028\U0001f98a")[rng.IntN(12)])
	}
	return s
}

func randomMetadata(rng *rand.Rand) Metadata {
	m := Metadata{}
	for range rng.IntN(5) {
		m[fmt.Sprintf("k%d", rng.IntN(12))] = randomValue(rng, 0)
	}
	return m
}

func randomValue(rng *rand.Rand, depth int) any {
	switch n := rng.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return rng.IntN(2) == 0
	case n == 2:
		return int64(rng.Uint64())
	case n == 3:
		return float64(rng.IntN(5)) * math.Pow(10, float64(rng.IntN(60)-30))
	case n == 4 && depth < 3:
		return []any{randomValue(rng, depth+1), randomValue(rng, depth+1)}
	case n == 5 && depth < 3:
		return map[string]any{"n": randomValue(rng, depth+1), "e": map[string]any{}}
	}
	return randomText(rng)
}

func TestChangesCheck(t *testing.T) {
	deep := any("x")
	for range MaxDepth + 2 {
		deep = []any{deep}
	}
	narrow := Grant{Writes: ChangeSet(0).With(ChangeKeep).With(ChangeItems), MaxItems: 1, MaxPriority: 5, Sources: []string{"retrieval"}, MaxTextBytes: 10}
	cases := map[string]struct {
		c     Changes
		grant *Grant
		want  string
	}{
		"keep beyond":        {c: Changes{Keep: []uint32{0, 4}}, want: "changes: keep[1]: row 4: does not exist (the call has 4 rows, 0 to 3)"},
		"keep twice":         {c: Changes{Keep: []uint32{1, 1}}, want: "changes: keep[1]: row 1: is listed twice (list each row once)"},
		"keep descending":    {c: Changes{Keep: []uint32{2, 1}}, want: "changes: keep[1]: row 1: comes after row 2 (list rows ascending; use order to move them)"},
		"edit beyond":        {c: Changes{Edits: []Edit{{Row: math.MaxUint32, Content: ptr("")}}}, want: "changes: edits[0]: row 4294967295: does not exist (the call has 4 rows, 0 to 3)"},
		"edit dropped":       {c: Changes{Keep: []uint32{0}, Edits: []Edit{{Row: 1, Content: ptr("")}}}, want: "changes: edits[0]: row 1: is changed and dropped (list it in keep, or leave it alone)"},
		"edit twice":         {c: Changes{Edits: []Edit{{Row: 1, Content: ptr("")}, {Row: 1, Content: ptr("")}}}, want: "changes: edits[1]: row 1: is edited twice (make one edit of it)"},
		"edit UTF-8":         {c: Changes{Edits: []Edit{{Row: 1, Content: ptr("\xff")}}}, want: "changes: edits[0]: row 1: content is not valid UTF-8"},
		"edit metadata":      {c: Changes{Edits: []Edit{{Row: 1, Metadata: Metadata{"k": "\xff"}}}}, want: `changes: edits[0]: row 1: metadata "k": string is not valid UTF-8`},
		"edit metadata key":  {c: Changes{Edits: []Edit{{Row: 1, Metadata: Metadata{"\xff": 1.0}}}}, want: `changes: edits[0]: row 1: metadata "\xff": key is not valid UTF-8`},
		"edit metadata inf":  {c: Changes{Edits: []Edit{{Row: 1, Metadata: Metadata{"k": []any{math.Inf(-1)}}}}}, want: `changes: edits[0]: row 1: metadata "k": number is not finite (want a finite float)`},
		"edit metadata deep": {c: Changes{Edits: []Edit{{Row: 1, Metadata: Metadata{"k": deep}}}}, want: `changes: edits[0]: row 1: metadata "k": value nests deeper than 64 levels (flatten it)`},
		"edit priority":      {c: Changes{Edits: []Edit{{Row: 1, Priority: ptr(11)}}}, want: "changes: edits[0]: row 1: priority 11 is out of range (want 1 to 10)"},
		"edit priority 0":    {c: Changes{Edits: []Edit{{Row: 1, Priority: ptr(0)}}}, want: "changes: edits[0]: row 1: priority 0 is out of range (want 1 to 10)"},
		"score beyond":       {c: Changes{Scores: []RowScore{{4, 0.5}}}, want: "changes: scores[0]: row 4: does not exist (the call has 4 rows, 0 to 3)"},
		"score dropped":      {c: Changes{Keep: []uint32{0}, Scores: []RowScore{{3, 0.5}}}, want: "changes: scores[0]: row 3: is changed and dropped (list it in keep, or leave it alone)"},
		"score twice":        {c: Changes{Scores: []RowScore{{3, 0.5}, {3, 0.5}}}, want: "changes: scores[1]: row 3: is scored twice (score each row once)"},
		"score NaN":          {c: Changes{Scores: []RowScore{{3, math.NaN()}}}, want: "changes: scores[0]: row 3: score NaN is out of range (want 0 to 1)"},
		"score high":         {c: Changes{Scores: []RowScore{{3, 1.01}}}, want: "changes: scores[0]: row 3: score 1.01 is out of range (want 0 to 1)"},
		"score low":          {c: Changes{Scores: []RowScore{{3, -1e-9}}}, want: "changes: scores[0]: row 3: score -1e-09 is out of range (want 0 to 1)"},
		"item empty":         {c: Changes{Items: []NewItem{{}}}, want: "changes: items[0]: content is empty (want text)"},
		"item UTF-8":         {c: Changes{Items: []NewItem{{Content: "\xff"}}}, want: "changes: items[0]: content is not valid UTF-8"},
		"item key":           {c: Changes{Items: []NewItem{{Content: "x", Key: "\xff"}}}, want: "changes: items[0]: key is not valid UTF-8"},
		"item score":         {c: Changes{Items: []NewItem{{Content: "x", Score: 2}}}, want: "changes: items[0]: score 2 is out of range (want 0 to 1)"},
		"item time":          {c: Changes{Items: []NewItem{{Content: "x", CreatedAt: time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)}}}, want: "changes: items[0]: created_at time is outside the years 1678 to 2262 (want one that fits 64-bit nanoseconds)"},
		"item system":        {c: Changes{Items: []NewItem{{Content: "x", Source: "system"}}}, want: `changes: items[0]: source "system" is not granted (state none, or one of retrieval, tool, user)`},
		"order short":        {c: Changes{Order: []uint32{0, 1, 2}}, want: "changes: order: lists 3 of 4 surviving rows (list each once)"},
		"order twice":        {c: Changes{Order: []uint32{0, 1, 2, 2}}, want: "changes: order[3]: row 2: is listed twice (list each surviving row once)"},
		"order beyond":       {c: Changes{Order: []uint32{0, 1, 2, 5}, Items: []NewItem{{Content: "x"}}}, want: "changes: order[3]: row 5: does not exist (the call has 4 rows, 0 to 3, and 1 new)"},
		"order dropped":      {c: Changes{Keep: []uint32{0, 1}, Order: []uint32{0, 2}}, want: "changes: order[1]: row 2: is ordered and dropped (list it in keep, or leave it out of order)"},
		"order without new":  {c: Changes{Order: []uint32{3, 1, 2, 0}, Items: []NewItem{{Content: "x"}}}, want: "changes: order: lists 4 of 5 surviving rows (list each once)"},
		"not granted":        {c: Changes{Order: []uint32{}}, grant: &narrow, want: "changes: order: change order is not granted (the step may change keep, items)"},
		"text not granted":   {c: Changes{Edits: []Edit{{Row: 0, Content: ptr("")}}}, grant: &narrow, want: "changes: edits: change text is not granted (the step may change keep, items)"},
		"nothing granted":    {c: Changes{Keep: []uint32{}}, grant: &Grant{}, want: "changes: keep: change keep is not granted (the step may change nothing)"},
		"too many items":     {c: Changes{Items: []NewItem{{Content: "a"}, {Content: "b"}}}, grant: &narrow, want: "changes: items: 2 new items are not granted (the step may add 1)"},
		"item priority":      {c: Changes{Items: []NewItem{{Content: "a", Priority: 6}}}, grant: &narrow, want: "changes: items[0]: priority 6 is not granted (the step may state at most 5)"},
		"item source":        {c: Changes{Items: []NewItem{{Content: "a", Source: "memory"}}}, grant: &narrow, want: `changes: items[0]: source "memory" is not granted (state none, or one of retrieval)`},
		"item size":          {c: Changes{Items: []NewItem{{Content: "12345678901"}}}, grant: &narrow, want: "changes: items[0]: content brings the new text to 11 bytes (the step may add 10)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			grant := wideGrant()
			if tc.grant != nil {
				grant = *tc.grant
			}
			err := tc.c.Check(4, grant)
			var ce *ChangeError
			if err == nil || err.Error() != tc.want || !errors.As(err, &ce) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
			if granted := !strings.Contains(tc.want, "granted") && !strings.Contains(tc.want, "may add"); granted == errors.Is(err, ErrNotGranted) {
				t.Errorf("errors.Is(%v, ErrNotGranted) = %v", err, !granted)
			}
		})
	}
}

// Any list of rows is judged as by looking at one row after the other.
func TestCheckKeepProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	sound, faulty := 0, 0
	for range 20000 {
		rows := rng.IntN(8)
		keep := make([]uint32, rng.IntN(8))
		next := uint32(0)
		for i := range keep {
			next += uint32(rng.IntN(3))
			if keep[i] = next; rng.IntN(12) == 0 {
				keep[i] = []uint32{rng.Uint32(), rng.Uint32N(10), math.MaxUint32}[rng.IntN(3)]
			}
			next++
			if rng.IntN(12) == 0 && next > 0 {
				next--
			}
		}
		c := &Changes{Keep: keep}
		if rng.IntN(2) == 0 { // which finds out what has been dropped
			c.Scores = []RowScore{{Row: rng.Uint32N(uint32(rows) + 1)}}
		}
		want := checkInTurn(c, rows)
		got := ""
		if err := c.Check(rows, wideGrant()); err != nil {
			got = err.Error()
			faulty++
		} else {
			sound++
		}
		if got != want {
			t.Fatalf("keep %v of %d rows, scores %v: got %q, want %q", keep, rows, c.Scores, got, want)
		}
	}
	if sound < 1000 || faulty < 1000 {
		t.Errorf("%d lists were sound and %d were not, which is no test", sound, faulty)
	}
}

// checkInTurn is what is wrong with keep and scores, one row after the other.
func checkInTurn(c *Changes, rows int) string {
	last, kept := int64(-1), map[uint32]bool{}
	absent := "does not exist (the call has " + rowCount(rows) + ")"
	for i, r := range c.Keep {
		what := ""
		switch {
		case int64(r) >= int64(rows):
			what = absent
		case int64(r) == last:
			what = "is listed twice (list each row once)"
		case int64(r) < last:
			what = fmt.Sprintf("comes after row %d (list rows ascending; use order to move them)", last)
		}
		if what != "" {
			return fmt.Sprintf("changes: keep[%d]: row %d: %s", i, r, what)
		}
		last, kept[r] = int64(r), true
	}
	for i, s := range c.Scores {
		switch {
		case int64(s.Row) >= int64(rows):
			return fmt.Sprintf("changes: scores[%d]: row %d: %s", i, s.Row, absent)
		case !kept[s.Row]:
			return fmt.Sprintf("changes: scores[%d]: row %d: is changed and dropped (list it in keep, or leave it alone)", i, s.Row)
		}
	}
	return ""
}

func TestDecodeChangesJSONErrors(t *testing.T) {
	cases := map[string]string{
		``:                                     "changes is not a JSON object",
		`null`:                                 "changes is not a JSON object",
		`[]`:                                   "changes is not a JSON object",
		`{"keep":[0]`:                          "changes is not JSON: it ends too early",
		`{"keep":[0]} {}`:                      "changes is not usable: data follows the JSON value (want one value only)",
		`{"keep":[0],}`:                        "changes is not JSON at byte 13: '}' (want the name of a member)",
		`{"kept":[0]}`:                         `changes has the unknown member "kept" (want one of keep, edits, scores, items, order)`,
		`{"scores":[{"row":0,"scor":1}]}`:      `changes has the unknown member "scor" (want one of row, score)`,
		`{"keep":[-1]}`:                        "changes has a JSON number -1 at keep (want a row number, 0 to 4294967295)",
		`{"keep":[4294967296]}`:                "changes has a JSON number 4294967296 at keep (want a row number, 0 to 4294967295)",
		`{"keep":[1.5]}`:                       "changes has a JSON number 1.5 at keep (want a row number, 0 to 4294967295)",
		`{"keep":[null]}`:                      "changes: keep[0]: row is null (want a row number)",
		`{"keep":3}`:                           "changes has a JSON number at keep (want a list)",
		`{"edits":[{"content":"x"}]}`:          "changes: edits[0]: row is missing (want a row number)",
		`{"scores":[{"score":1}]}`:             "changes: scores[0]: row is missing (want a row number)",
		`{"scores":[{"row":1}]}`:               "changes: scores[0]: row 1: score is missing (want 0 to 1)",
		`{"scores":[{"row":1,"score":"1"}]}`:   "changes has a JSON string at scores.score (want a number)",
		"{\"items\":[{\"content\":\"\xff\"}]}": "changes is not valid UTF-8",
		`{"items":[{"content":"x","metadata":[]}]}`: `changes is not usable: metadata is not an object (want {"key": value})`,
	}
	for in, want := range cases {
		c, err := DecodeChangesJSON([]byte(in))
		var ce *ChangeError
		if c != nil || err == nil || err.Error() != want || !errors.As(err, &ce) || !errors.Is(err, ErrMalformed) {
			t.Errorf("%s\n got %v\nwant %s", in, err, want)
		}
	}
}

// What ABI.md forbids is refused by name in answers of every kind.
func TestDecodeReplyStrictly(t *testing.T) {
	cases := []struct {
		doc      any
		in, want string
	}{
		{&Changes{}, `{"keep":[0],"keep":[]}`, `changes has the member "keep" twice (name it once)`},
		{&Changes{}, `{"keep":[0],"k\u0065ep":[]}`, `changes has the member "keep" twice (name it once)`},
		{&Changes{}, `{"KEEP":[0]}`, `changes has the unknown member "KEEP" (want one of keep, edits, scores, items, order)`},
		{&Changes{}, `{"keep":null}`, "changes has a JSON null at keep (want a list)"},
		{&Changes{}, `{"order":null}`, "changes has a JSON null at order (want a list)"},
		{&Changes{}, `{"items":null}`, "changes has a JSON null at items (want a list)"},
		{&Changes{}, `{"items":[{"content":null}]}`, "changes has a JSON null at items.content (want a string)"},
		{&Changes{}, `{"items":[{"content":"a","metadata":{"a":1,"b":2,"a":3}}]}`, `changes has the member "a" twice (name it once)`},
		{&Changes{}, `{"items":[{"content":"a","metadata":{"a":[{"b":1,"b":1}]}}]}`, `changes has the member "b" twice (name it once)`},
		{&Changes{}, `{"items":[{"content":"\ud800"}]}`, `changes has the escape \ud800 at byte 23, which is half of a character (want both, or the character itself)`},
		{&Changes{}, `{"items":[{"content":"\udd8a\ud83e"}]}`, `changes has the escape \udd8a at byte 23, which is half of a character (want both, or the character itself)`},
		{&Changes{}, `{"items":[{"content":"a","metadata":{"\ud83e":1}}]}`, `changes has the escape \ud83e at byte 39, which is half of a character (want both, or the character itself)`},
		{&Changes{}, `{"items":[{"content":"a","created_at":"yesterday"}]}`, `changes has a JSON string "yesterday" at items.created_at (want a time in RFC 3339, such as 2025-03-01T12:30:00Z)`},
		{&Changes{}, "{\"keep\":[\"a\tb\"]}", `changes is not JSON at byte 12: '\t' (want a string without control characters (escape them))`},
		{&ClassifyReply{}, `{"label":"a","label":"b"}`, `answer has the member "label" twice (name it once)`},
		{&ClassifyReply{}, `{"Label":"a"}`, `answer has the unknown member "Label" (want label)`},
		{&ClassifyReply{}, `{"label":null}`, "answer has a JSON null at label (want a string)"},
		{&ClassifyReply{}, "{\"label\":\"\xff\"}", "answer is not valid UTF-8"},
		{&TransformReply{}, `{"queries":null}`, "answer has a JSON null at queries (want a list)"},
		{&MemoryReply{}, `{"items":[{"content":"a","Score":1}]}`, `answer has the unknown member "Score" (want one of key, content, source, score, priority, metadata, created_at)`},
		{&ProvideReply{}, `{"messages":null}`, "answer has a JSON null at messages (want a list)"},
		{&ProvideReply{}, `{"state":{"data":null}}`, `answer is not usable: data is not an object (want {"key": value})`},
		{&ProvideReply{}, `{"messages":[{"role":"user","tool_calls":[{"a":1,"a":2}]}]}`, `answer has the member "a" twice (name it once)`},
		{&FormatReply{}, `{"output":null}`, "answer has a JSON null at output (want a string or any other value)"},
		{&FormatReply{}, `{"output":{"a":"\ud800"}}`, `answer has the escape \ud800 at byte 17, which is half of a character (want both, or the character itself)`},
		{&CountReply{}, `{"counts":[1e2]}`, "answer has a JSON number 1e2 at counts (want an integer)"},
		{&EstimateReply{}, `{"tokens":01}`, "answer is not JSON at byte 12: '1' (want a comma or '}')"},
	}
	for _, tt := range cases {
		err := DecodeReply([]byte(tt.in), tt.doc)
		if err == nil || err.Error() != tt.want || !errors.Is(err, ErrMalformed) {
			t.Errorf("%s\n got %v\nwant %s", tt.in, err, tt.want)
		}
	}
	for in, doc := range map[string]any{
		`{"label":"\ud83e\udd8a \u00fc\/"}`:                             &ClassifyReply{Label: "🦊 ü/"},
		`{"messages":[{"role":"tool","content":"","tool_calls":null}]}`: &ProvideReply{Messages: []Message{{Role: "tool", ToolCalls: json.RawMessage("null")}}},
		// A provider that takes the reflection away names it; one that leaves it does not.
		`{"state":{"reflection":"","observations":[],"data":{}}}`: &ProvideReply{State: &StateChange{Observations: []string{}, Reflection: new(string), Data: Metadata{}}},
		`{"state":{"observations":["a"]}}`:                        &ProvideReply{State: &StateChange{Observations: []string{"a"}}},
		` { "items" : [ ] } `:                                     &MemoryReply{},
	} {
		got := reflect.New(reflect.TypeOf(doc).Elem()).Interface()
		if err := DecodeReply([]byte(in), got); err != nil || !reflect.DeepEqual(got, doc) {
			t.Errorf("%s: got %+v, error %v", in, got, err)
		}
	}
}

// The key of a new item becomes an id, which people read in terminals and logs.
func TestKeysCanBeShown(t *testing.T) {
	for _, key := range []string{"\x1b[2J", "a\nb", "\x7f", "\u009b", "\u202e", "\u2028"} {
		c := &Changes{Items: []NewItem{{Content: "x"}, {Content: "x", Key: key}}}
		err := c.Check(0, wideGrant())
		if err == nil || !strings.HasPrefix(err.Error(), "changes: items[1]: key ") || !strings.Contains(err.Error(), "has a control character") || strings.Contains(err.Error(), key) {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

// Text that is no UTF-8 is refused while it is copied, wherever in it that is.
func TestDecodeChangesText(t *testing.T) {
	long := strings.Repeat("ü", 1<<16)
	for _, text := range []string{"\xff", "a\xc3", long + "\x80", "\xbc" + long, long + "\xc3" + long, long[1:]} {
		for want, c := range map[string]*Changes{
			"changes: edits[1]: row 3: content is not valid UTF-8": {Edits: []Edit{{Row: 2, Content: &long}, {Row: 3, Content: &text}}},
			"changes: items[1]: content is not valid UTF-8":        {Items: []NewItem{{Content: long}, {Content: text}}},
		} {
			b, err := AppendChanges(nil, c)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeChanges(b)
			var ce *ChangeError
			if got != nil || err == nil || err.Error() != want || !errors.As(err, &ce) || !errors.Is(err, ErrMalformed) {
				t.Errorf("%d bytes: got %v, want %s", len(text), err, want)
			}
		}
	}
	c := &Changes{Edits: []Edit{{Row: 2, Content: &long}}, Items: []NewItem{{Content: long}}}
	b, err := AppendChanges(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeChanges(b); err != nil || *got.Edits[0].Content != long || got.Items[0].Content != long {
		t.Errorf("got other texts, or the error %v", err)
	}
}

// Edits of one row may come in pieces, in any order.
func TestEditsMerge(t *testing.T) {
	got, err := DecodeChangesJSON([]byte(`{"edits":[{"row":2,"priority":3},{"row":1,"content":"b"},{"row":2,"content":"a"},{"row":0}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Edit{{Row: 1, Content: ptr("b")}, {Row: 2, Content: ptr("a"), Priority: ptr(3)}}
	if !reflect.DeepEqual(got.Edits, want) {
		t.Errorf("got %+v", got.Edits)
	}
}

func TestAppendChangesErrors(t *testing.T) {
	cases := map[string]struct {
		c    Changes
		want string
	}{
		"metadata": {Changes{Edits: []Edit{{Row: 3, Metadata: Metadata{"k": struct{}{}}}}}, `changes: edits[0]: row 3: "k": value has an unsupported type (want nil, bool, integer, float, string, []any, map[string]any)`},
		"item":     {Changes{Items: []NewItem{{Metadata: Metadata{"k": math.NaN()}}}}, `changes: items[0]: "k": number is not finite (want a finite float)`},
		"priority": {Changes{Edits: []Edit{{Row: 3, Priority: ptr(-1)}}}, "changes: edits[0]: row 3: priority -1 is out of range (want 0 to 2147483647)"},
		"score":    {Changes{Scores: []RowScore{{1, math.NaN()}}}, "changes: scores[0]: row 1: score number is not finite (want a finite float)"},
		"time":     {Changes{Items: []NewItem{{CreatedAt: time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC)}}}, "changes: items[0]: created_at time is outside the years 1678 to 2262 (want one that fits 64-bit nanoseconds)"},
	}
	for name, tc := range cases {
		_, bin := AppendChanges(nil, &tc.c)
		_, doc := AppendChangesJSON(nil, &tc.c)
		if bin == nil || bin.Error() != tc.want || doc == nil || doc.Error() != tc.want {
			t.Errorf("%s:\nbatch %v\nJSON  %v\nwant  %s", name, bin, doc, tc.want)
		}
	}
}

// A writer and a batch that are used again keep nothing of what they held before.
func TestStorageUsedAgain(t *testing.T) {
	text := "new"
	sets := []*Changes{
		{Edits: []Edit{{Row: 1, Content: &text}, {Row: 2, Metadata: Metadata{"a": "b"}}}, Items: []NewItem{{Content: "x", Metadata: Metadata{"k": int64(1)}}}},
		{Keep: []uint32{0, 2}},
		{Edits: []Edit{{Row: 0, Metadata: Metadata{"c": true}}}},
		{Items: []NewItem{{Content: "y", Score: math.NaN()}}},
		{Order: []uint32{1, 0}},
	}
	var w ChangesWriter
	for i, c := range sets {
		got, err := w.Append(nil, c)
		want, wantErr := AppendChanges(nil, c)
		if !bytes.Equal(got, want) || (err == nil) != (wantErr == nil) {
			t.Errorf("set %d: %d bytes, error %v; afresh %d bytes, error %v", i, len(got), err, len(want), wantErr)
		}
	}
	var into Changes
	for i, c := range sets {
		b, err := AppendChanges(nil, c)
		if err != nil {
			continue
		}
		if err := into.Decode(b); err != nil || !reflect.DeepEqual(&into, c) {
			t.Errorf("set %d: decoded %+v, error %v; want %+v", i, into, err, c)
		}
	}
	if into.Decode([]byte("no change set")) == nil || !reflect.DeepEqual(into, Changes{}) {
		t.Errorf("after an error there are changes: %+v", into)
	}
	var v Batch
	for _, cols := range []ColumnSet{ColumnSet(0).With(ColumnText).With(ColumnScore), ColumnSet(0).With(ColumnID)} {
		var bw BatchWriter
		size, err := bw.Plan(ItemRows{{ID: "a", Content: "b", Score: 0.5}}, cols, &Envelope{TopK: 1})
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, size)
		if err := bw.Write(b); err != nil {
			t.Fatal(err)
		}
		fresh, err := OpenBatch(b)
		if err != nil || OpenBatchInto(&v, b) != nil || !reflect.DeepEqual(*fresh, v) {
			t.Errorf("columns %v: %+v (afresh %+v, error %v)", cols.Names(), v, fresh, err)
		}
	}
}
