package abi

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi/internal/layout"
	"github.com/anchor-host/anchor-host/abi/services"
)

func readABI(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("ABI.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// table returns the cells of the table that follows the comment with its name,
// without heading and code marks.
func table(t *testing.T, doc, name string) [][]string {
	t.Helper()
	_, rest, ok := strings.Cut(doc, "<!-- table: "+name+" -->\n")
	if !ok {
		t.Fatalf("ABI.md has no table %q", name)
	}
	var rows [][]string
	for i, line := range strings.Split(rest, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if i < 2 {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for j := range cells {
			cells[j] = strings.ReplaceAll(strings.TrimSpace(cells[j]), "`", "")
		}
		rows = append(rows, cells)
	}
	return rows
}

// compareTable compares the first columns of a table with rows, both ways.
func compareTable(t *testing.T, doc, name string, want [][]string) {
	t.Helper()
	got := table(t, doc, name)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("table %s lacks %v", name, want[i])
		case i >= len(want):
			t.Errorf("table %s has %v, which Go does not know", name, got[i])
		case !slices.Equal(got[i][:len(want[i])], want[i]):
			t.Errorf("table %s row %d: has %v, Go says %v", name, i, got[i][:len(want[i])], want[i])
		}
	}
}

func TestABITables(t *testing.T) {
	doc := readABI(t)
	var ops, sections, types, kinds, changes, reasons, statuses, words [][]string
	for _, info := range Operations {
		ops = append(ops, []string{string(info.Op), lanes(info), info.Request, dash(info.Reply), reads(info), listOf(info.Writes), listOf(info.DefaultWrites)})
	}
	for _, s := range layout.Sections {
		sections = append(sections, []string{strconv.Itoa(int(s.ID)), s.Name, s.Type.String(), place(s)})
	}
	for typ := layout.TypeText; typ <= layout.TypeVectors; typ++ {
		types = append(types, []string{strconv.Itoa(int(typ)), typ.String()})
	}
	for k := KindNull; k <= KindJSON; k++ {
		kinds = append(kinds, []string{strconv.Itoa(int(k)), k.String()})
	}
	for _, c := range AllChanges {
		changes = append(changes, []string{string(c)})
	}
	for _, r := range Reasons {
		reasons = append(reasons, []string{string(r)})
	}
	for _, s := range []Status{StatusDone, StatusNoChange, StatusError} {
		statuses = append(statuses, []string{strconv.Itoa(int(s))})
	}
	compareTable(t, doc, "operations", ops)
	compareTable(t, doc, "parts", partRows())
	compareTable(t, doc, "sections", sections)
	compareTable(t, doc, "types", types)
	compareTable(t, doc, "kinds", kinds)
	compareTable(t, doc, "changes", changes)
	compareTable(t, doc, "reasons", reasons)
	for _, w := range services.Words {
		words = append(words, []string{string(w)})
	}
	compareTable(t, doc, "service words", words)
	compareTable(t, doc, "statuses", statuses)
	compareTable(t, doc, "limits", [][]string{
		{"rows of a batch, new items of a change set", strconv.Itoa(MaxRows)},
		{"bytes of a batch or a change set", strconv.Itoa(MaxBytes)},
		{"dimensions of the vectors of items", strconv.Itoa(MaxDimension)},
		{"levels of a metadata value", strconv.Itoa(MaxDepth)},
		{"highest priority of an item", strconv.Itoa(MaxPriority)},
	})
	compareTable(t, doc, "mailbox", [][]string{
		{"0", "size u32"}, {"4", "in_addr u32"}, {"8", "in_cap u32"}, {"12", "out_addr u32"}, {"16", "out_len u32"}, {"20", "reserved u32"},
		{"24", "document u32"},
	})
}

// The bytes of header, directory and mailbox stand where the tables say.
func TestABIOffsets(t *testing.T) {
	doc := readABI(t)
	var l layout.Plan
	l.Add(layout.SectionTopK, 4)
	size, err := l.Finish()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	l.Put(b, layout.BatchMagic, 7)
	checkFields(t, table(t, doc, "header"), b, map[string]uint64{
		"magic": uint64(layout.BatchMagic), "major": 1, "minor": 0, "header_size": 32, "total": uint64(size), "rows": 7, "sections": 1, "reserved": 0,
	})
	checkFields(t, table(t, doc, "entry"), b[layout.HeaderSize:], map[string]uint64{
		"id": uint64(layout.SectionTopK), "type": uint64(layout.TypeU32), "flags": 0, "offset": 48, "length": 4,
	})
	checkFields(t, table(t, doc, "mailbox"), AppendMailbox(nil, Mailbox{MailboxDocumentSize, 2, 3, 4, 5, 6, 7}), map[string]uint64{
		"size": MailboxDocumentSize, "in_addr": 2, "in_cap": 3, "out_addr": 4, "out_len": 5, "reserved": 6, "document": 7,
	})
}

func checkFields(t *testing.T, rows [][]string, b []byte, want map[string]uint64) {
	t.Helper()
	for _, row := range rows {
		off, err := strconv.Atoi(row[0])
		if err != nil {
			t.Fatal(err)
		}
		name, typ, _ := strings.Cut(row[1], " ")
		bits, err := strconv.Atoi(typ[1:])
		if err != nil {
			t.Fatal(err)
		}
		var got uint64
		for i := range bits / 8 {
			got |= uint64(b[off+i]) << (8 * i)
		}
		if w, ok := want[name]; !ok || got != w {
			t.Errorf("%s at %d: %d, want %d (%v)", name, off, got, w, ok)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("ABI.md lacks field %s", name)
	}
}

func lanes(info OperationInfo) string {
	if info.Batch {
		return "both"
	}
	return "JSON"
}

func place(s layout.SectionInfo) string {
	switch {
	case s.Batch && s.Changes:
		return "both"
	case s.Batch:
		return "batch"
	}
	return "changes"
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// partGroups are the lists of parts under the words of the table of operations.
var partGroups = []struct {
	name  string
	parts []Part
}{{"query", queryParts}, {"turns", compactParts}, {"past", distillParts}, {"remembered", extractParts}, {"agent", provideParts}, {"event", eventParts}, {"window", windowParts}}

func reads(info OperationInfo) string {
	var words []string
	if len(info.Reads) > 0 {
		words = append(words, "columns")
	}
	for _, g := range partGroups {
		if slices.Equal(info.Parts, g.parts) {
			words = append(words, g.name)
		}
	}
	return dash(strings.Join(words, ", "))
}

func partRows() (rows [][]string) {
	for _, g := range partGroups {
		for _, p := range g.parts {
			rows = append(rows, []string{g.name, string(p)})
		}
	}
	return rows
}

func listOf(cs []Change) string { return dash(strings.Join(changeNames(cs), ", ")) }

// members1 lists the JSON members of one struct, one row each.
func members1(v any) [][]string {
	var rows [][]string
	typ := reflect.TypeOf(v)
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		rows = append(rows, []string{name})
	}
	return rows
}

var (
	watBlock  = regexp.MustCompile("(?s)```wat\n(.*?)```")
	watExport = regexp.MustCompile(`^\(func \(export "([^"]+)"\)((?: \((?:param|result)(?: i32| i64)+\))*)\)$`)
	watImport = regexp.MustCompile(`^\(import "([^"]+)" "([^"]+)" \(func((?: \((?:param|result)(?: i32| i64)+\))*)\)\)$`)
	watTypes  = regexp.MustCompile(`\((param|result)((?: i32| i64)+)\)`)
)

// The WAT signatures are those of the Go tables, both ways.
func TestABISignatures(t *testing.T) {
	var exports, imports []string
	for _, block := range watBlock.FindAllStringSubmatch(readABI(t), -1) {
		for _, line := range strings.Split(strings.TrimSpace(block[1]), "\n") {
			line, _, _ = strings.Cut(line, ";;")
			line = strings.TrimSpace(line)
			if m := watExport.FindStringSubmatch(line); m != nil {
				exports = append(exports, m[1]+" "+watSignature(m[2]))
			} else if m := watImport.FindStringSubmatch(line); m != nil {
				imports = append(imports, m[1]+" "+m[2]+" "+watSignature(m[3]))
			} else {
				t.Errorf("ABI.md: unreadable WAT: %s", line)
			}
		}
	}
	var goExports, goImports []string
	for _, s := range Exports {
		goExports = append(goExports, s.Name+" "+s.String())
	}
	for _, s := range Imports {
		goImports = append(goImports, s.Module+" "+s.Name+" "+s.String())
		if got, ok := LookupImport(s.Module, s.Name); !ok || !got.Is(s.Params, s.Results) {
			t.Errorf("LookupImport(%q, %q) = %v, %v", s.Module, s.Name, got, ok)
		}
	}
	if !slices.Equal(exports, goExports) {
		t.Errorf("exports:\nABI.md %q\nGo     %q", exports, goExports)
	}
	if !slices.Equal(imports, goImports) {
		t.Errorf("imports:\nABI.md %q\nGo     %q", imports, goImports)
	}
}

func watSignature(s string) string {
	lists := map[string]string{}
	for _, m := range watTypes.FindAllStringSubmatch(s, -1) {
		lists[m[1]] = strings.Join(strings.Fields(m[2]), ", ")
	}
	return "(" + lists["param"] + ") -> (" + lists["result"] + ")"
}

var documentBlock = regexp.MustCompile("(?s)<!-- document: (\\w+) -->\n```json\n(.*?)```")

// Every document of the operations has an example that decodes strictly and
// shows every member.
func TestABIDocuments(t *testing.T) {
	types := map[string]any{}
	for name := range documentNames(t) {
		types[name] = reflect.ValueOf(NewDocument(name)).Elem().Interface()
	}
	shown := map[string]bool{}
	seen := map[string]bool{} // "Type.member" of every struct in any example
	for _, m := range documentBlock.FindAllStringSubmatch(readABI(t), -1) {
		v, ok := types[m[1]]
		if !ok {
			t.Errorf("ABI.md shows %s, which is no document", m[1])
			continue
		}
		shown[m[1]] = true
		doc := reflect.New(reflect.TypeOf(v))
		if err := decodeExample([]byte(m[2]), doc.Interface()); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
		var tree any
		if err := json.Unmarshal([]byte(m[2]), &tree); err != nil {
			t.Fatal(err)
		}
		noteMembers(seen, reflect.TypeOf(v), tree)
	}
	for name, v := range types {
		if !shown[name] {
			t.Errorf("section 8 of ABI.md shows no %s (add an example with all members behind <!-- document: %s -->)", name, name)
		}
		checkMembers(t, seen, reflect.TypeOf(v), map[reflect.Type]bool{})
	}
}

// documentNames returns the names of the documents of the operations.
func documentNames(t testing.TB) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, info := range Operations {
		for _, name := range []string{info.Request, info.Reply} {
			switch {
			case name == "":
			case NewDocument(name) == nil:
				t.Errorf("%s: NewDocument in document.go has no case for %s", info.Op, name)
			default:
				names[name] = true
			}
		}
	}
	return names
}

// replies returns the names of the answers that DecodeReply reads.
func replies() (names []string) {
	for _, info := range Operations {
		if info.Reply != "" && info.Reply != "Changes" && NewDocument(info.Reply) != nil {
			names = append(names, info.Reply)
		}
	}
	return names
}

// DecodeReply reads each answer: the case of a new one belongs to reply in json_reply.go.
func TestEachReplyIsRead(t *testing.T) {
	for _, name := range replies() {
		if err := DecodeReply([]byte("{}"), NewDocument(name)); errors.Is(err, ErrUnsupported) {
			t.Errorf("reply in json_reply.go has no case for *%s", name)
		}
	}
}

// noteMembers records which members of which structs a JSON tree shows.
func noteMembers(seen map[string]bool, typ reflect.Type, tree any) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if list, ok := tree.([]any); ok && typ.Kind() == reflect.Slice {
		for _, e := range list {
			noteMembers(seen, typ.Elem(), e)
		}
		return
	}
	m, ok := tree.(map[string]any)
	if !ok || typ.Kind() != reflect.Struct {
		return
	}
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if v, ok := m[name]; ok {
			seen[typ.Name()+"."+name] = true
			noteMembers(seen, typ.Field(i).Type, v)
		}
	}
}

func checkMembers(t *testing.T, seen map[string]bool, typ reflect.Type, done map[reflect.Type]bool) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ.PkgPath() != reflect.TypeFor[Changes]().PkgPath() || done[typ] {
		return
	}
	done[typ] = true
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if typ == reflect.TypeFor[StateChange]() && (name == "run_id" || name == "messages") {
			continue // a host refuses an answer with them
		}
		if !seen[typ.Name()+"."+name] {
			t.Errorf("ABI.md shows no %s.%s", typ.Name(), name)
		}
		checkMembers(t, seen, typ.Field(i).Type, done)
	}
}

// label names the next n bytes of a dump.
type label struct {
	n    int
	text string
}

// headLabels are the labels of the header and of each entry of a directory.
func headLabels(magic string, sections ...string) []label {
	l := []label{{4, "magic " + magic}, {2, "major"}, {2, "minor"}, {4, "header size"}, {4, "total bytes"}, {4, "rows"}, {4, "sections"}, {8, "reserved"}}
	for _, s := range sections {
		l = append(l, label{4, s + ": id, type"}, label{4, "flags"}, label{4, "offset"}, label{4, "length"})
	}
	return l
}

// dump writes bytes with their labels, at most 16 bytes a line.
func dump(t *testing.T, b []byte, labels []label) string {
	t.Helper()
	var s strings.Builder
	at := 0
	for _, l := range labels {
		for first := true; l.n > 0; first = false {
			n := min(l.n, 16)
			text := ""
			if first {
				text = l.text
			}
			line := fmt.Sprintf("%04x  %-47s  %s", at, fmt.Sprintf("% x", b[at:at+n]), text)
			s.WriteString(strings.TrimRight(line, " ") + "\n")
			at, l.n = at+n, l.n-n
		}
	}
	if at != len(b) {
		t.Fatalf("labels for %d of %d bytes", at, len(b))
	}
	return s.String()
}

// checkDump compares the dump of ABI.md with b, and returns the bytes it shows.
func checkDump(t *testing.T, name, want string) []byte {
	t.Helper()
	doc := readABI(t)
	open := "<!-- dump: " + name + " -->\n```\n"
	before, rest, ok := strings.Cut(doc, open)
	if !ok {
		t.Fatalf("ABI.md has no dump %s", name)
	}
	got, after, _ := strings.Cut(rest, "```")
	if *update && got != want {
		if err := os.WriteFile("ABI.md", []byte(before+open+want+"```"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		got = want
	}
	if got != want {
		t.Errorf("dump %s of ABI.md differs (go test ./abi -update writes it):\n%s", name, want)
	}
	var b []byte
	for _, line := range strings.Split(strings.TrimSpace(got), "\n") {
		digits := strings.ReplaceAll(line[6:min(len(line), 53)], " ", "")
		part, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, part...)
	}
	return b
}

// The dumps of ABI.md are what the writers write, and the readers read them.
func TestABIDumps(t *testing.T) {
	rows := ItemRows{{Score: 0.75, Metadata: Metadata{"lang": "en", "page": int64(7)}}, {Score: 0.5}}
	cols := ColumnSet(0).With(ColumnScore).With(ColumnMetadata)
	b := encodeBatch(t, rows, cols, &Envelope{Query: &Query{Text: "fox"}})
	shown := checkDump(t, "batch", dump(t, b, append(headLabels("ANCB", "score", "metadata", "query_text"),
		label{8, "score[0] = 0.75"}, label{8, "score[1] = 0.5"},
		label{4, "keys = 2"}, label{4, "entries = 2"}, label{4, "key bytes = 8"}, label{4, "value bytes = 2"},
		label{8, "cell[0]: 2 bytes at 0"}, label{8, "cell[1] = 7"},
		label{12, "row: 0, 2, 2"}, label{12, "key offset: 0, 4, 8"}, label{8, "key: 0, 1"}, label{2, "kind: string, i64"},
		label{8, `key bytes "langpage"`}, label{2, `value bytes "en"`}, label{4, "padding"},
		label{3, `"fox"`}, label{5, "padding"})))
	v := mustOpen(t, shown)
	if lang, _ := v.MetaValue(0, "lang"); lang.String() != "en" || v.Score(1) != 0.5 || v.QueryText() != "fox" {
		t.Errorf("the dump reads as %+v", itemsOf(v))
	}
	c := &Changes{Keep: []uint32{0}, Scores: []RowScore{{0, 1}}}
	b, err := AppendChanges(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	shown = checkDump(t, "changes", dump(t, b, append(headLabels("ANCC", "keep", "score_rows", "score_values"),
		label{4, "keep: 0"}, label{4, "padding"}, label{4, "row 0"}, label{4, "padding"}, label{8, "score = 1.0"})))
	got, err := DecodeChanges(shown)
	if err != nil || !reflect.DeepEqual(got, c) || !bytes.Equal(shown, b) {
		t.Errorf("the dump reads as %+v, %v", got, err)
	}
}

// decodeExample reads an answer as a host does, and a request without letting go what
// nobody knows.
func decodeExample(b []byte, doc any) error {
	err := DecodeReply(b, doc)
	if !errors.Is(err, ErrUnsupported) {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(doc)
}

func TestABITextSections(t *testing.T) {
	doc := readABI(t)
	compareTable(t, doc, "text sections", [][]string{{ReadmeSection}, {ChangelogSection}})
	if want := fmt.Sprintf("at most %d bytes each", MaxText); !strings.Contains(doc, want) {
		t.Errorf("ABI.md does not say %q", want)
	}
}
