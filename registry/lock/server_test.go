package lock

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// Servers survive a write, sorted, and a wrong one is refused with its place.
func TestServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	d := "sha256:" + strings.Repeat("a", 64)
	err := Edit(t.Context(), path, func(f *File) error {
		f.SetServer(Server{Name: "b", At: "https://b.example", Tools: []ServerTool{{"x", d}}})
		f.SetServer(Server{Name: "a", At: `"/bin/a" "b c"`})
		f.SetServer(Server{Name: "b", At: "https://c.example", Tools: []ServerTool{{"y", d}}})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(path)
	if err != nil || len(f.Servers) != 2 || f.Servers[0].Name != "a" || f.Server("b").At != "https://c.example" || f.Server("b").Tools[0].Name != "y" || f.Server("c") != nil {
		t.Fatalf("%+v %v", f, err)
	}
	for name, text := range map[string]string{
		"name": "{name: 'A b', at: x}", "at": "{name: a, at: ''}", "tools": "{name: a, at: x, tools: [{name: t, digest: md5}]}", "twice": "{name: a, at: x}, {name: a, at: x}",
		"tool twice": "{name: a, at: x, tools: [{name: t, digest: '" + d + "'}, {name: t, digest: '" + d + "'}]}", "key": "{name: a, at: x, more: 1}", "many": strings.Repeat("{name: a, at: x}, ", MaxServers+1),
	} {
		if _, err := Parse("f", []byte("version: 1\nplugins: []\nmcp: ["+text+"]\n")); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "mcp") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
