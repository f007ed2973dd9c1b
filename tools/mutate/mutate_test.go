package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const source = `package small

import "errors"

func Clamp(n, most int) (int, error) {
	if n < 0 {
		return 0, errors.New("below 0")
	}
	n += 1
	return min(n, most), nil
}
`

// Each kind of change is made, under a name that tells it.
func TestMutants(t *testing.T) {
	list, err := mutate("small.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, strings.TrimPrefix(m.key, "small.go Clamp: "))
	}
	for _, want := range []string{
		"n < 0 => n <= 0", "n < 0 => n >= 0", "0 => 1", "0 => 1 (2)", `return 0, errors.New("below 0") => return 0, nil`,
		"n += 1 => n -= 1", "n += 1 => nothing", "1 => 0", "min => max",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no mutant %q in %q", want, got)
		}
	}
}

// A run tells which mutants its tests notice, and is held against the floors.
func TestRun(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/small\n\ngo 1.25\n", "small.go": source,
		"small_test.go":                "package small\n\nimport \"testing\"\n\nfunc TestClamp(t *testing.T) {\n\tif n, err := Clamp(3, 9); n != 4 || err != nil {\n\t\tt.Fatal(n, err)\n\t}\n}\n",
		"tools/mutate/equivalent.json": `{"small.go Clamp: 0 => 1 (2)": "the result beside an error"}`,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old := targets
	targets = []target{{"small", []string{"small.go"}, []tests{{".", ""}}}}
	t.Cleanup(func() { targets = old })
	mutate := func(args ...string) (list []result, err error) {
		t.Helper()
		var out bytes.Buffer
		err = run(append([]string{"-root", root, "-o", "json"}, args...), &out, &bytes.Buffer{})
		if out.Len() > 0 {
			if err := json.Unmarshal(out.Bytes(), &list); err != nil {
				t.Fatalf("%v: %s", err, &out)
			}
		}
		return list, err
	}
	list, err := mutate("-write")
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, error %v", list, err)
	}
	survivors := []string{"small.go Clamp: 0 => 1", "small.go Clamp: n < 0 => n <= 0"} // without its error the file does not compile
	var got []string
	for _, s := range list[0].Survivors {
		got = append(got, s.Key)
	}
	if r := list[0]; !slices.Equal(got, survivors) || r.Mutants != r.Killed+2 || r.Killed < 5 || !r.Whole {
		t.Errorf("%+v, survivors %q, want %q", r, got, survivors)
	}
	if _, err := mutate("-n", "3", "-fail"); err != nil {
		t.Errorf("a sample without new survivors: %v", err)
	}
	floors := filepath.Join(root, "tools/mutate/floors.json")
	if err := os.WriteFile(floors, []byte(`{"small": {"killed": 1, "mutants": 9, "whole": true, "survivors": []}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"-fail"}, {"-write"}, {"-fail", "-n", "20"}} {
		if _, err := mutate(flags...); err == nil {
			t.Errorf("%v: no error below the floor", flags)
		}
	}
	if _, err := mutate("nothing"); err == nil {
		t.Error("no error for a target that there is not")
	}
}
