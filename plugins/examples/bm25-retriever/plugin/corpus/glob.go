package corpus

import (
	"fmt"
	"path"
	"strings"
)

// glob is a pattern cut at its slashes.
type glob []string

type globs []glob

func compileGlobs(patterns []string) (globs, error) {
	var gs globs
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return nil, fmt.Errorf("pattern %q: malformed (* ? [a-z] within a name, ** for folders)", p)
		}
		gs = append(gs, strings.Split(strings.TrimPrefix(p, "./"), "/"))
	}
	return gs, nil
}

func (gs globs) match(name string) bool {
	parts := strings.Split(name, "/")
	for _, g := range gs {
		if g.match(parts) {
			return true
		}
	}
	return false
}

// matchDir reports whether a pattern covers everything in the folder, so that
// it need not be read: a/** covers a, and so does a.
func (gs globs) matchDir(name string) bool {
	parts := strings.Split(name, "/")
	for _, g := range gs {
		if n := len(g); n > 1 && g[n-1] == "**" && g[:n-1].match(parts) || g.match(parts) {
			return true
		}
	}
	return false
}

func (g glob) match(parts []string) bool {
	if len(g) == 0 {
		return len(parts) == 0
	}
	if g[0] == "**" {
		for i := range len(parts) + 1 {
			if g[1:].match(parts[i:]) {
				return true
			}
		}
		return false
	}
	if len(parts) == 0 {
		return false
	}
	if ok, _ := path.Match(g[0], parts[0]); !ok {
		return false
	}
	return g[1:].match(parts[1:])
}
