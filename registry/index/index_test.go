package index_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/index"
)

func plugin(name string) index.Plugin {
	return index.Plugin{
		Name: name, Reference: "oci://ghcr.io/acme/" + name + ":1.2.0", Version: "1.2.0", ABI: 1, Operations: []string{"rerank"},
		Description: "Ranks items.", Versions: []string{"1.2.0", "1.1.0"},
	}
}

func file(t testing.TB, plugins ...index.Plugin) []byte {
	t.Helper()
	text, err := (&index.Index{Version: index.Version, Plugins: plugins}).Write()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestReadsWhatItWrites(t *testing.T) {
	text := file(t, plugin("bm25"), plugin("mmr"))
	x, err := index.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := x.Write()
	if err != nil || !bytes.Equal(again, text) {
		t.Errorf("written again: %s, %v", again, err)
	}
	if x, err := index.Read(file(t)); err != nil || len(x.Plugins) != 0 {
		t.Errorf("an index without plugins: %v, %v", x, err)
	}
	later := bytes.Replace(text, []byte(`"version": 1,`), []byte(`"version": 1, "stars": {"bm25": [5]},`), 1)
	if _, err := index.Read(later); err != nil {
		t.Errorf("a member of a later version: %v", err)
	}
}

// TestRefuses has one change for each rule.
func TestRefuses(t *testing.T) {
	change := func(f func(*index.Plugin)) string {
		p := plugin("bm25")
		f(&p)
		text, err := json.Marshal(index.Index{Version: 1, Plugins: []index.Plugin{p}})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	alike := func(a, b string) string { return string(file(t, plugin(a), plugin(b))) }
	good := string(file(t, plugin("bm25")))
	for name, each := range map[string]struct{ text, want string }{
		"nothing":               {"", "EOF"},
		"a page":                {"<html>", "want a JSON object: jsontext: invalid character"},
		"a list":                {"[]", "want a JSON object"},
		"an end too early":      {good[:len(good)/2], "EOF"},
		"two documents":         {good + good, "something follows"},
		"no version":            {`{"plugins": []}`, "plugin index"},
		"a newer version":       {`{"version": 2, "plugins": []}`, "use a newer anchor-host"},
		"another form":          {`{"version": 2, "plugins": {"bm25": {"reference": []}}}`, "use a newer anchor-host"},
		"a member twice":        {`{"version": 1, "version": 1}`, "duplicate"},
		"no plugins":            {`{"version": 1}`, "has no plugins"},
		"plugins of no list":    {`{"version": 1, "plugins": {}}`, "want a list"},
		"too large":             {strings.Repeat(" ", index.MaxSize+1), "split it"},
		"too many":              {`{"version": 1, "plugins": [` + strings.Repeat(`{"name": "`+strings.Repeat("a", 80)+`"},`, index.MaxPlugins) + `{}]}`, "more than 10000 plugins"},
		"the same name":         {alike("bm25", "bm25"), `"bm25" (oci://ghcr.io/acme/bm25:1.2.0) and "bm25"`},
		"a hyphen more":         {alike("keep-best", "keepbest"), "names alike"},
		"1 for l":               {alike("mmr-l", "mmr-1"), "names alike"},
		"0 for o":               {alike("top-k", "t0p-k"), "names alike"},
		"a name with a path":    {change(func(p *index.Plugin) { p.Name = "../bm25" }), "want lower-case"},
		"no reference":          {change(func(p *index.Plugin) { p.Reference = "" }), "names no repository"},
		"a reference to a file": {change(func(p *index.Plugin) { p.Reference = "file:///etc/passwd" }), "want oci://"},
		"no scheme":             {change(func(p *index.Plugin) { p.Reference = "ghcr.io/acme/bm25:1" }), "want oci:// and a tag"},
		"no tag":                {change(func(p *index.Plugin) { p.Reference = "oci://ghcr.io/acme/bm25" }), "want oci:// and a tag"},
		"a version":             {change(func(p *index.Plugin) { p.Version = "latest" }), "wrong version"},
		"another version":       {change(func(p *index.Plugin) { p.Versions = []string{"1"} }), "wrong version"},
		"a version twice":       {change(func(p *index.Plugin) { p.Versions = []string{"1.2.0", "1.2.0"} }), "there twice"},
		"many versions":         {change(func(p *index.Plugin) { p.Versions = make([]string, 1001) }), "more than 1000 versions"},
		"a digest":              {change(func(p *index.Plugin) { p.Digest = "sha256:abc" }), "digest"},
		"an operation":          {change(func(p *index.Plugin) { p.Operations = []string{"rm -rf"} }), "operation"},
		"a long text":           {change(func(p *index.Plugin) { p.Description = strings.Repeat("a", 1001) }), "longer than 1000"},
		"a terminal's escape":   {change(func(p *index.Plugin) { p.Description = "\x1b[2J" }), "control characters"},
		"a direction":           {change(func(p *index.Plugin) { p.Deprecated = "\u202ecod" }), "control characters"},
		"a line":                {change(func(p *index.Plugin) { p.License = "MIT\nevil" }), "control characters"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := index.Read([]byte(each.text))
			if !errors.Is(err, index.ErrInvalid) || !strings.Contains(err.Error(), each.want) {
				t.Errorf("want %q, got: %v", each.want, err)
			}
			if strings.Contains(each.want, "alike") && !errors.Is(err, index.ErrAlike) {
				t.Errorf("is not ErrAlike: %v", err)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\x1b\u202e") {
				t.Errorf("acts on a terminal: %q", err)
			}
		})
	}
}

// A repository has one line. To name it with two tags is a mistake, and not two names that look alike.
func TestBuildTwice(t *testing.T) {
	cache, err := registry.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	client, err := registry.New(registry.Options{Cache: cache, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var refs []registry.Reference
	for _, text := range []string{"oci://ghcr.io/acme/bm25:1.2", "oci://ghcr.io/acme/mmr", "oci://ghcr.io/acme/bm25"} {
		ref, err := registry.ParseReference(text)
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	_, err = index.Build(t.Context(), client, refs)
	if want := "oci://ghcr.io/acme/bm25: is the repository of oci://ghcr.io/acme/bm25:1.2: "; !errors.Is(err, registry.ErrReference) || strings.Count(err.Error(), want) != 1 {
		t.Errorf("want %q once, got: %v", want, err)
	}
}

// TestManyPlugins counts what is read before it takes memory.
func TestManyPlugins(t *testing.T) {
	text := []byte(`{"version": 1, "plugins": [` + strings.TrimSuffix(strings.Repeat("{},", index.MaxSize/3-20), ",") + `]}`)
	if n := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = index.Read(text)
		}
	}).AllocedBytesPerOp(); n > 3*index.MaxSize {
		t.Errorf("reading %d bytes of empty plugins allocates %d", len(text), n)
	}
}

func TestSearch(t *testing.T) {
	x := &index.Index{Version: 1}
	for _, each := range [][3]string{
		{"rank-words", "Sorts items.", "rerank"}, {"rank", "Gives scores.", "score"}, {"bm25", "Ranks by words.", "rerank"},
		{"rank-old", "Sorts items.", "rerank"}, {"mmr", "Keeps what differs.", "filter"}, {"low-rank", "Folds vectors.", "embed"},
	} {
		p := plugin(each[0])
		p.Description, p.Operations = each[1], []string{each[2]}
		if each[0] == "rank-old" {
			p.Deprecated = "use rank"
		}
		x.Plugins = append(x.Plugins, p)
	}
	for _, each := range []struct {
		query index.Query
		want  string
	}{
		{index.Query{}, "bm25 low-rank mmr rank rank-words rank-old"},
		{index.Query{Text: "rank"}, "rank rank-words low-rank bm25 rank-old"},
		{index.Query{Text: "RANK words"}, "rank-words bm25"},
		{index.Query{Text: "rank", Operation: "rerank"}, "rank-words bm25 rank-old"},
		{index.Query{Operation: "filter"}, "mmr"},
		{index.Query{Text: "differs"}, "mmr"},
		{index.Query{Text: "nothing"}, ""},
	} {
		var names []string
		for _, p := range x.Search(each.query) {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != each.want {
			t.Errorf("%+v: got %s, want %s", each.query, got, each.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file(f, plugin("bm25"), plugin("mmr")))
	f.Add([]byte(`{"version": 1, "plugins": [{"name": "a"}], "more": [{}]}`))
	f.Add([]byte(`{"version": 1}`))
	f.Add([]byte(fmt.Sprintf(`{"version": 1, "plugins": [%s]}`, strings.Repeat("[", 100))))
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := index.Read(text)
		if err != nil {
			if !errors.Is(err, index.ErrInvalid) {
				t.Errorf("is not ErrInvalid: %v", err)
			}
			return
		}
		again, err := x.Write()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := index.Read(again); err != nil {
			t.Errorf("what was read and written is refused: %v", err)
		}
		x.Search(index.Query{Text: string(text)})
	})
}

// TestHeavy reads indexes of small values in great numbers: what is refused costs next to nothing.
func TestHeavy(t *testing.T) {
	for name, each := range map[string][2]string{
		"versions":   {`"plugins":[{"versions":["1"`, `,""`},
		"operations": {`"plugins":[{"operations":["x"`, `,""`},
		"unknown":    {`"x":[0`, `,[]`},
		"plugins":    {`"plugins":[{}`, `,{}`},
	} {
		text := []byte(`{"version":1,` + each[0] + strings.Repeat(each[1], 1<<20))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := index.Read(text)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, index.ErrInvalid) || !errors.Is(err, registry.ErrTooLarge) || n > 1<<20 {
			t.Errorf("%s: %d bytes took %d, %v", name, len(text), n, err)
		}
	}
}
