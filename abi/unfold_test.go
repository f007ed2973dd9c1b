package abi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// What a decoder may take for an input, in live and in allocated bytes: so many times its
// bytes, and what even the smallest may take. floor is the decoder's own; the
// allocator and what the tests themselves take are in slack.
const (
	liveFactor, allocFactor = 4, 16
	slack                   = 128 << 10
	floor                   = 1 << 20
)

// guestDecoders are all decoders of what comes from guests.
var guestDecoders = map[string]func(b []byte) (any, error){
	"changes":      func(b []byte) (any, error) { return DecodeChanges(b) },
	"changes json": func(b []byte) (any, error) { return DecodeChangesJSON(b) },
	"items json": func(b []byte) (any, error) {
		c := new(Changes)
		return c, c.DecodeItemsWithin(b, WidestBounds())
	},
}

func init() {
	for _, name := range replies() {
		guestDecoders[name] = func(b []byte) (any, error) {
			doc := NewDocument(name)
			return doc, DecodeReply(b, doc)
		}
	}
}

// fill makes a document of about n bytes: before, as often element as there is room,
// after. A # in an element is its number.
func fill(before, element, after string, n int) []byte {
	var b strings.Builder
	b.Grow(n + len(before) + len(element) + len(after))
	b.WriteString(before)
	head, tail, numbered := strings.Cut(element, "#")
	for i := 0; b.Len()+len(element)+len(after)+8 < n || i == 0; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		if b.WriteString(head); numbered {
			b.WriteString(strconv.Itoa(i))
		}
		b.WriteString(tail)
	}
	b.WriteString(after)
	return []byte(b.String())
}

// hostileDocument is before, as often element as there is room, and after.
type hostileDocument struct{ decoder, before, element, after string }

// hostileDocuments are shapes of JSON that unfold.
var hostileDocuments = []hostileDocument{
	{"changes json", `{"items":[`, `{}`, `]}`},
	{"changes json", `{"items":[`, `{"content":"x"}`, `]}`},
	{"changes json", `{"items":[`, `{"content":"x","metadata":{"":0}}`, `]}`},
	{"changes json", `{"items":[`, `{"metadata":{}}`, `]}`},
	{"changes json", `{"items":[{"content":"x","metadata":{`, `"#":null`, `}}]}`},
	{"changes json", `{"items":[{"content":"x","metadata":{`, `"#":{"":{}}`, `}}]}`},
	{"changes json", `{"items":[{"content":"x","metadata":{"a":[`, `0`, `]}}]}`},
	{"changes json", `{"items":[{"content":"x","metadata":{"a":[`, `[]`, `]}}]}`},
	{"changes json", `{"items":[{"content":"x","metadata":{"a":[`, `{}`, `]}}]}`},
	{"changes json", `{"items":[{"content":"x","metadata":{"a":[`, `{"":0}`, `]}}]}`},
	{"changes json", `{"items":[{"content":"x","metadata":{"a":[`, `""`, `]}}]}`},
	{"changes json", `{"items":[{"content":"x","metadata":{"a":[`, `"a"`, `]}}]}`},
	{"changes json", `{"items":[{"content":"x","metadata":{"a":[`, `1.5`, `]}}]}`},
	{"changes json", `{"items":[{"content":"x","metadata":{"a":[`, `"\u0041"`, `]}}]}`},
	{"changes json", `{"items":[{"content":"x","metadata":{"a":[`, `[[[[[[[[[[[[[[[[{"":{"":{}}}]]]]]]]]]]]]]]]]`, `]}}]}`},
	{"changes json", `{"items":[{"content":"`, `\n`, `"}]}`},
	{"changes json", `{"items":[{"content":"`, `\ud83e\udd8a`, `"}]}`},
	{"changes json", `{"items":[{"key":"`, `k`, `","content":"x"}]}`},
	{"changes json", `{"edits":[`, `{}`, `]}`},
	{"changes json", `{"edits":[`, `{"row":0}`, `]}`},
	{"changes json", `{"edits":[`, `{"row":#,"priority":1}`, `]}`},
	{"changes json", `{"edits":[`, `{"row":#,"content":""}`, `]}`},
	{"changes json", `{"edits":[`, `{"row":#,"metadata":{}}`, `]}`},
	{"changes json", `{"edits":[`, `{"row":#,"metadata":{"a":1}}`, `]}`},
	{"changes json", `{"scores":[`, `{}`, `]}`},
	{"changes json", `{"scores":[`, `{"row":1,"score":0}`, `]}`},
	{"changes json", `{"keep":[`, `0`, `]}`},
	{"changes json", `{"order":[`, `0`, `]}`},
	{"changes json", `{"keep":`, `[`, ``},
	{"changes json", `{"keep":[`, `"\u`, `]}`},
	{"changes json", `{`, `"#":0`, `}`},
	{"changes json", `{`, `"\u0061#":0`, `}`},
	{"changes json", `{"keep":[],`, `"keep":[]`, `}`},
	{"items json", `[`, `{}`, `]`},
	{"items json", `[`, `{"content":"x"}`, `]`},
	{"TransformReply", `{"queries":[`, `{}`, `]}`},
	{"TransformReply", `{"queries":[{"embedding":[`, `0`, `]}]}`},
	{"TransformReply", `{"queries":[{"chat_history":[`, `{}`, `]}]}`},
	{"TransformReply", `{"queries":[{"metadata":{`, `"#":[]`, `}}]}`},
	{"ClassifyReply", `{"label":"`, `x`, `"}`},
	{"EnrichReply", `{"query_str":"`, `\\`, `"}`},
	{"MemoryReply", `{"items":[`, `{}`, `]}`},
	{"CompactReply", `{"summary":"`, `\t`, `"}`},
	{"ExtractReply", `{"add":[`, `{}`, `]}`},
	{"ExtractReply", `{"add":[{"tags":[`, `""`, `]}]}`},
	{"ExtractReply", `{"add":[{"metadata":{`, `"#":[]`, `}}]}`},
	{"ExtractReply", `{"update":[`, `{}`, `]}`},
	{"ExtractReply", `{"remove":[`, `""`, `]}`},
	{"DistillReply", `{"add":[`, `""`, `]}`},
	{"DistillReply", `{"reflection":"`, `x`, `"}`},
	{"ProvideReply", `{"messages":[`, `{}`, `]}`},
	{"ProvideReply", `{"messages":[`, `{"role":"user","content":"","tool_calls":[]}`, `]}`},
	{"ProvideReply", `{"messages":[{"parts":[`, `{}`, `]}]}`},
	{"ProvideReply", `{"messages":[{"parts":[`, `{"index":#}`, `]}]}`},
	{"ProvideReply", `{"messages":[{"parts":[`, `{"media":{}}`, `]}]}`},
	{"ProvideReply", `{"messages":[{"parts":[`, `{"parts":[{"parts":[{"parts":[{}]}]}]}`, `]}]}`},
	{"ProvideReply", `{"state":{"observations":[`, `""`, `]}}`},
	{"ProvideReply", `{"state":{"messages":[`, `{}`, `]}}`},
	{"ProvideReply", `{"state":{"data":{`, `"#":{}`, `}}}`},
	{"EstimateReply", `{"tokens":`, `1`, `}`},
	{"FormatReply", `{"output":[`, `{}`, `]}`},
	{"FormatReply", `{"output":{`, `"#":0`, `}}`},
	{"CountReply", `{"counts":[`, `0`, `]}`},
	{"manifest", `{"self_test":[`, `{}`, `]}`},
	{"manifest", `{"permissions":[`, `{}`, `]}`},
	{"manifest", `{"permissions":[{"hosts":[`, `""`, `]}]}`},
	{"manifest", `{"operations":{"filter":{"reads":[`, `""`, `]}}}`},
	{"manifest", `{"operations":{"filter":{"settings":{`, `"#":{}`, `}}}}`},
	{"manifest", `{"settings":{"enum":[`, `0`, `]}}`},
	{"manifest", `{`, `"#":0`, `}`},
	{"manifest", `{"abi":`, `[`, ``},
}

// hostileChanges are change sets of the batch lane that unfold, of at most about n bytes.
func hostileChanges(t *testing.T, n int) map[string][]byte {
	t.Helper()
	one, long := 1, strings.Repeat("k", n/8)
	shapes := map[string]struct {
		bytes int // of one element
		add   func(c *Changes, i int)
	}{
		"one key for all": {52, func(c *Changes, i int) {
			if i >= 1000 { // writing it takes as long as reading it did
				return
			}
			c.Items = append(c.Items, NewItem{Content: "x", Metadata: Metadata{long: nil}})
		}},
		"tiny items":  {9, func(c *Changes, _ int) { c.Items = append(c.Items, NewItem{Content: "x"}) }},
		"empty items": {8, func(c *Changes, _ int) { c.Items = append(c.Items, NewItem{}) }},
		"small metadata": {60, func(c *Changes, _ int) {
			c.Items = append(c.Items, NewItem{Content: "x", Metadata: Metadata{"a": "", "b": nil, "c": []any{}}})
		}},
		"nested metadata": {80, func(c *Changes, _ int) {
			c.Items = append(c.Items, NewItem{Content: "x", Metadata: Metadata{"a": []any{map[string]any{"": []any{}}, map[string]any{"": nil}}}})
		}},
		"metadata edits": {40, func(c *Changes, i int) {
			c.Edits = append(c.Edits, Edit{Row: uint32(i), Metadata: Metadata{"a": true}, Priority: &one})
		}},
		"scores": {12, func(c *Changes, i int) { c.Scores = append(c.Scores, RowScore{Row: uint32(i)}) }},
		"order":  {4, func(c *Changes, i int) { c.Order = append(c.Order, uint32(i)) }},
		"many keys": {40, func(c *Changes, i int) {
			if i == 0 {
				c.Items = []NewItem{{Content: "x", Metadata: Metadata{}}}
			}
			c.Items[0].Metadata[strconv.Itoa(i)] = nil
		}},
	}
	out := map[string][]byte{}
	for name, s := range shapes {
		c := &Changes{}
		for i := range min(n/s.bytes, MaxRows) + 1 {
			if s.add(c, i); len(c.Items) == MaxRows {
				break
			}
		}
		b, err := AppendChanges(nil, c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = b
	}
	return out
}

// TestDecodersUnfoldLittle: whatever a guest answers, what is decoded of it lives in at
// most 4 times its bytes and is made with at most 16 times as many, and a floor of 1 MiB.
func TestDecodersUnfoldLittle(t *testing.T) {
	sizes := []int{100, 64 << 10, 1 << 20}
	if os.Getenv("ANCHOR_THOROUGH") != "" {
		sizes = append(sizes, 8<<20)
	}
	for _, n := range sizes {
		for _, h := range hostileDocuments {
			checkUnfolds(t, h.decoder, h.before+h.element, fill(h.before, h.element, h.after, n))
		}
		for name, b := range hostileChanges(t, n) {
			checkUnfolds(t, "changes", name, b)
		}
	}
	for _, name := range replies() {
		if !slices.ContainsFunc(hostileDocuments, func(h hostileDocument) bool { return h.decoder == name }) {
			t.Errorf("hostileDocuments has none for %s", name)
		}
	}
	for _, b := range fuzzCorpora(t) {
		for decoder := range guestDecoders {
			checkUnfolds(t, decoder, "corpus", b)
		}
	}
}

func checkUnfolds(t *testing.T, decoder, shape string, b []byte) {
	t.Helper()
	size := int64(len(b))
	mostLive, mostAllocated := liveFactor*size+floor+slack, allocFactor*size+floor+slack
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := guestDecoders[decoder](b)
	runtime.ReadMemStats(&after)
	allocated := int64(after.TotalAlloc - before.TotalAlloc)
	live := int64(0)
	if allocated > mostLive { // else no more can be alive
		runtime.GC()
		runtime.ReadMemStats(&before)
		var got any
		got, err = guestDecoders[decoder](b)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(got)
		live = int64(after.HeapAlloc) - int64(before.HeapAlloc)
	}
	runtime.KeepAlive(b)
	if live > mostLive || allocated > mostAllocated {
		t.Errorf("%s of %d bytes, %.60q: %d bytes live (%.1f times), %d allocated (%.1f times), error %v", decoder, size, shape,
			live, float64(live)/float64(size), allocated, float64(allocated)/float64(size), err)
	}
	if testing.Verbose() && size > 7<<20 {
		t.Logf("%-12s %-50.50q live %5.2f allocated %5.2f error %.80v", decoder, shape, float64(live)/float64(size), float64(allocated)/float64(size), err)
	}
}

// fuzzCorpora are the inputs that fuzzing has found, those of this package and of the ones
// that decode answers.
func fuzzCorpora(t *testing.T) (corpora [][]byte) {
	t.Helper()
	for _, dir := range []string{"testdata/fuzz", "manifest/testdata/fuzz", "conformance/testdata/fuzz", "../host/testdata/fuzz"} {
		files, err := filepath.Glob(dir + "/*/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if quoted, ok := strings.CutPrefix(line, "[]byte("); ok {
					value, err := strconv.Unquote(strings.TrimSuffix(strings.TrimSpace(quoted), ")"))
					if err != nil {
						t.Fatalf("%s: %v", path, err)
					}
					corpora = append(corpora, []byte(value))
				}
			}
		}
	}
	return corpora
}

// Counts may be lies: nothing is made for them before the bytes are there.
func TestDecodersBelieveNoCounts(t *testing.T) {
	b, err := AppendChanges(nil, goldenChanges())
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at+4 <= len(b); at += 4 {
		for _, v := range []uint32{0xffffffff, 0x7fffffff, 0x00100000, 0x10000000} {
			lie := append([]byte(nil), b...)
			binary.LittleEndian.PutUint32(lie[at:], v)
			checkUnfolds(t, "changes", fmt.Sprintf("%x at %d", v, at), lie)
		}
	}
}

// A member has one name: the tables of the reader are those of the documents.
func TestMembersAreThoseOfTheDocuments(t *testing.T) {
	for _, doc := range []struct {
		of      any
		members []string
	}{
		{Changes{}, changesMembers}, {Edit{}, editMembers}, {RowScore{}, scoreMembers}, {NewItem{}, itemMembers},
		{DistillReply{}, distillMembers}, {ExtractReply{}, extractMembers}, {FormatReply{}, formatMembers},
	} {
		typ := reflect.TypeOf(doc.of)
		var names []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
		if !slices.Equal(names, doc.members) {
			t.Errorf("%s: the reader has %v, the document %v", typ.Name(), doc.members, names)
		}
	}
}

// countingMeter has room for so much.
type countingMeter struct{ taken, most int64 }

func (m *countingMeter) Take(n int64) error {
	if m.taken += n; m.taken > m.most {
		return errNoRoom
	}
	return nil
}

var errNoRoom = errors.New("no room")

// What is decoded is asked for before it is made, and the error of who is asked comes out.
func TestMeterIsAsked(t *testing.T) {
	items := &Changes{}
	for range 2000 {
		items.Items = append(items.Items, NewItem{Content: strings.Repeat("x", 100)})
	}
	batch, err := AppendChanges(nil, items)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := AppendChangesJSON(nil, items)
	if err != nil {
		t.Fatal(err)
	}
	for name, decode := range map[string]func(Bounds) error{
		"batch":  func(b Bounds) error { return new(Changes).DecodeWithin(batch, b) },
		"JSON":   func(b Bounds) error { return new(Changes).DecodeJSONWithin(doc, b) },
		"memory": func(b Bounds) error { return DecodeReplyWithin(doc, &MemoryReply{}, b) },
	} {
		within := WidestBounds()
		m := &countingMeter{most: 1 << 30}
		within.Meter = m
		if err := decode(within); err != nil || m.taken < 200_000 || m.taken > 800_000 {
			t.Errorf("%s: %d bytes taken, error %v", name, m.taken, err)
		}
		within.Meter = &countingMeter{most: 200_000}
		if err := decode(within); !errors.Is(err, errNoRoom) {
			t.Errorf("%s: error %v where there is no room", name, err)
		}
		within.Writes, within.Meter = 0, nil
		if err := decode(within); !errors.Is(err, ErrNotGranted) {
			t.Errorf("%s: error %v where nothing is granted", name, err)
		}
		within = WidestBounds()
		within.MaxItems = 1999
		if err := decode(within); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "adds 2000 items, allowed 1999") {
			t.Errorf("%s: error %v where an item less is allowed", name, err)
		}
	}
}

// stopsAt says that time is up when it is asked for the at-th time.
type stopsAt struct{ asked, at int }

func (m *stopsAt) Take(int64) error {
	if m.asked++; m.asked >= m.at {
		return errNoRoom
	}
	return nil
}

// A long answer is given up while it is read, whatever is in it.
func TestDecodingStops(t *testing.T) {
	for _, h := range []struct{ before, element, after string }{
		{`{"output":{`, `"#":0`, `}}`}, {`{"output":[`, `[]`, `]}`}, {`{"output":[`, `0`, `]}`}, {`{"output":`, `[`, ``},
	} {
		m := &stopsAt{at: 3}
		within := WidestBounds()
		within.Meter = m
		err := DecodeReplyWithin(fill(h.before, h.element, h.after, 1<<20), &FormatReply{}, within)
		if h.element != `[` && !errors.Is(err, errNoRoom) || err == nil {
			t.Errorf("%s%s: error %v after %d times", h.before, h.element, err, m.asked)
		}
	}
	m := &stopsAt{at: 30}
	within := WidestBounds()
	within.Meter = m
	err := DecodeReplyWithin(fill(`{"queries":[{"embedding":[`, `0`, `]}]}`, 1<<20), &TransformReply{}, within)
	if !errors.Is(err, errNoRoom) {
		t.Errorf("error %v after %d times", err, m.asked)
	}
}

// More rows than a call has are refused without reading them.
func TestDecodeWithinRows(t *testing.T) {
	many := make([]uint32, 1000)
	within := WidestBounds()
	within.Rows = 3
	within.MaxItems = 0
	for want, c := range map[string]*Changes{
		"changes: keep: lists 1000 rows (the call has 3 rows, 0 to 2)":   {Keep: many},
		"changes: order: lists 1000 rows (the call has 3 rows, 0 to 2)":  {Order: many},
		"changes: scores: lists 1000 rows (the call has 3 rows, 0 to 2)": {Scores: make([]RowScore, 1000)},
	} {
		batch, err := AppendChanges(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := AppendChangesJSON(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		inBatch, inJSON := new(Changes).DecodeWithin(batch, within), new(Changes).DecodeJSONWithin(doc, within)
		if fmt.Sprint(inBatch) != want || fmt.Sprint(inJSON) != want {
			t.Errorf("got %v\nand  %v\nwant %s", inBatch, inJSON, want)
		}
	}
}

// A key that many rows name is in memory once.
func TestRowsShareKeys(t *testing.T) {
	key := strings.Repeat("k", 1000)
	c := &Changes{}
	for range 10 {
		c.Items = append(c.Items, NewItem{Content: "x", Metadata: Metadata{key: nil}})
	}
	b, err := AppendChanges(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeChanges(b)
	if err != nil || !reflect.DeepEqual(got, c) {
		t.Fatalf("got other changes, error %v", err)
	}
	var first *byte
	for _, it := range got.Items {
		for k := range it.Metadata {
			if at := unsafe.StringData(k); first == nil {
				first = at
			} else if at != first {
				t.Fatal("two rows have copies of one key")
			}
		}
	}
}
