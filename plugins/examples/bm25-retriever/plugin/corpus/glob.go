package corpus

import (
	"fmt"
	"path"
	"strings"
)

// glob is a pattern of slash-separated paths. Most patterns have one of two simple forms,
// which are matched fast, because every file of a folder is matched.
type glob struct {
	// parts is the pattern cut at its slashes, for patterns without a simple form.
	parts []string
	// base is X if the pattern is **/X: the last name must match. Otherwise it is empty.
	base string
	// folder is X if the pattern is X/**: everything below a matching folder.
	folder []string
}

type globs []glob

func compileGlobs(patterns []string) (globs, error) {
	var gs globs
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return nil, fmt.Errorf("pattern %q: malformed (* ? [a-z] within a name, ** for folders)", p)
		}
		parts := strings.Split(strings.TrimPrefix(p, "./"), "/")
		g := glob{parts: parts}
		if n := len(parts); n == 2 && parts[0] == "**" && parts[1] != "**" {
			g.base = parts[1]
		} else if n > 1 && parts[n-1] == "**" {
			g.folder = parts[:n-1]
		}
		gs = append(gs, g)
	}
	return gs, nil
}

// matchFile reports whether a pattern matches the path of a file.
func (gs globs) matchFile(name string) bool {
	for _, g := range gs {
		if g.matchFile(name) {
			return true
		}
	}
	return false
}

func (g *glob) matchFile(name string) bool {
	if g.base != "" {
		return matchName(g.base, name[strings.LastIndexByte(name, '/')+1:])
	}
	return matchParts(g.parts, strings.Split(name, "/"))
}

// matchFolder reports whether a pattern matches a folder or everything in it, so that the
// folder need not be read. Both a/** and a match the folder a.
func (gs globs) matchFolder(name string) bool {
	parts := strings.Split(name, "/")
	for _, g := range gs {
		if g.folder != nil && matchParts(g.folder, parts) || matchParts(g.parts, parts) {
			return true
		}
	}
	return false
}

// matchParts matches names one by one. At the end of a pattern, ** matches one or more names;
// elsewhere it matches any number of names.
func matchParts(pattern, parts []string) bool {
	switch {
	case len(pattern) == 0:
		return len(parts) == 0
	case pattern[0] == "**" && len(pattern) == 1:
		return len(parts) > 0
	case pattern[0] == "**":
		for i := range len(parts) + 1 {
			if matchParts(pattern[1:], parts[i:]) {
				return true
			}
		}
		return false
	}
	return len(parts) > 0 && matchName(pattern[0], parts[0]) && matchParts(pattern[1:], parts[1:])
}

// matchName is path.Match, faster for literals and endings such as *.go.
func matchName(pattern, name string) bool {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return pattern == name
	}
	if ending := pattern[1:]; pattern[0] == '*' && !strings.ContainsAny(ending, `*?[\`) {
		return strings.HasSuffix(name, ending)
	}
	ok, _ := path.Match(pattern, name)
	return ok
}
