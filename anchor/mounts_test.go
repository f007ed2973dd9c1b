package anchor

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// A mount takes the place of the folder that the configuration mounts there, after a reload
// too, and changes nothing of another App.
func TestMounts(t *testing.T) {
	dir := t.TempDir()
	text := "plugins:\n  instances: {docs: {plugin: p, grants: {files: [{host: a, guest: /docs/}, {host: b, guest: /other}]}}}\n"
	path := write(t, dir, text)
	app, err := Load(path, Options{Lazy: true, Mounts: []Mount{{"docs", "some", "/docs"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	want, err := filepath.Abs("some")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		files := app.current.Loaded.Plugins.Instances["docs"].Grants.Files
		if len(files) != 2 || files[0].Host != "b" || files[1].Host != want || files[1].Guest != "/docs" || files[1].Mode != "ro" {
			t.Errorf("%+v", files)
		}
		if c, err := app.current.Config(""); err != nil || len(c.Plugins.Instances["docs"].Grants.Files) != 2 || c.Plugins.Instances["docs"].Grants.Files[1].Host != want {
			t.Errorf("pipeline: %+v, %v", c, err)
		}
		if err := app.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Load(path, Options{Lazy: true, Mounts: []Mount{{"dcs", "some", "/docs"}}})
	if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), `mounts: no instance "dcs" (did you mean "docs"?)`) {
		t.Errorf("%v", err)
	}
}
