package authoring

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/internal/cachedir"
	"github.com/anchor-host/anchor-host/internal/pybuild"
)

const componentizeName = "componentize-py " + pybuild.Version

var pythonToolchain = &Toolchain{
	Language: "python", Title: "Python", Marks: []string{"plugin.py"}, helper: "pdk-py",
	connect: "write def filter(request, settings): in plugin.py",
	Programs: []Program{{
		Name: componentizeName, Executables: []string{"componentize-py"}, works: pinned,
		Get: "python3 -m venv .venv && .venv/bin/pip install componentize-py==" + pybuild.Version,
	}},
	build: buildPython,
}

// pinned returns an error if a componentize-py has another version: what it writes may differ.
func pinned(path string) error {
	version, err := probe(path, "--version")
	if version = strings.TrimSpace(version); err == nil && version != componentizeName {
		err = fmt.Errorf("%s is %s", path, version)
	}
	return err
}

// buildPython builds a Python project in a copy that has the helper library, if it has none.
func buildPython(ctx context.Context, j *job) ([]byte, error) {
	componentize := j.program(componentizeName)
	source, err := j.source()
	if err != nil {
		return nil, err
	}
	cache, err := cachedir.Folder(cachedir.Python)
	if err != nil {
		return nil, err
	}
	o := pybuild.Options{
		Dir: source, Work: j.work, Cache: cache, Python: pythonBeside(componentize), Componentize: componentize,
		Run: func(dir string, args ...string) error { return j.run(ctx, Command{Args: args, Dir: dir}) },
	}
	o.Operations, o.Permissions = asked(j.manifest)
	return pybuild.Build(o)
}

// asked returns the operations of a manifest, and the words of its permissions.
func asked(m *manifest.Manifest) (operations, permissions []string) {
	for name := range m.Operations {
		operations = append(operations, string(name))
	}
	for _, p := range m.Permissions {
		permissions = append(permissions, cmp.Or(p.Service, p.Kind))
	}
	slices.Sort(operations)
	slices.Sort(permissions)
	return operations, permissions
}

// pythonBeside returns the Python of the environment of a program, or one in PATH.
func pythonBeside(program string) string {
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(program), name)); err == nil {
			return path
		}
	}
	return "python3"
}
