package nearest

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var columns = []string{"id", "score", "text", "metadata", "source", "priority", "token_count", "created_at"}

func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"score": "score", "scor": "score", "Socre": "score", "txet": "text", "x": "", "": "", "nothing": "",
		"created": "created_at", strings.Repeat("x", 1000): "", strings.Repeat("\xff", 70): "",
	} {
		if got := Name(name, columns); got != want {
			t.Errorf("%.20q: got %q, want %q", name, got, want)
		}
	}
	if got := Name("a", nil); got != "" {
		t.Errorf("of no names: %q", got)
	}
}

func TestNames(t *testing.T) {
	if got := Names("sourc", columns, 2); !slices.Equal(got, []string{"source", "score"}) {
		t.Errorf("got %q", got)
	}
	if got := Names("x", []string{"a"}, 3); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q", got)
	}
}

func TestHint(t *testing.T) {
	for _, c := range []struct {
		name  string
		valid []string
		want  string
	}{
		{"keap", []string{"keep", "text"}, ` (did you mean "keep"?)`},
		{"other", []string{"keep", "text"}, " (want one of keep, text)"},
		{"other", nil, " (none is allowed here)"},
	} {
		if got := Hint(c.name, c.valid); got != c.want {
			t.Errorf("%s of %q: got %q, want %q", c.name, c.valid, got, c.want)
		}
	}
}

// A long name costs no more than a short one.
func TestLongName(t *testing.T) {
	long := strings.Repeat("X", 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := Name(long, columns)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; got != "" || took > 100<<10 {
		t.Errorf("got %q, took %d KiB", got, took>>10)
	}
}

// A hint lists few of many valid names, and cuts long ones. Only the first are compared.
func TestManyNames(t *testing.T) {
	valid := make([]string, 100_000)
	for i := range valid {
		valid[i] = strings.Repeat("x", 1000) + strconv.Itoa(i)
	}
	got := Hint("other", valid)
	if len(got) > 300 || !strings.HasSuffix(got, " and 99999 others)") {
		t.Errorf("%d bytes: %.400s", len(got), got)
	}
	for i := range valid {
		valid[i] = "name" + strconv.Itoa(i)
	}
	if got := Name("name150000", valid); got != "name15000" && !strings.HasPrefix(got, "name") {
		t.Errorf("got %q", got)
	}
	if got, want := Hint("q", valid), " (want one of name0, name1, "; !strings.HasPrefix(got, want) || len(got) > 260 {
		t.Errorf("got %q", got)
	}
	valid[50_000] = "entirely"
	if got := Name("entirly", valid); got != "" {
		t.Errorf("compared too many names, found %q", got)
	}
}
