package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	codeText = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// Each link to a file of the repository, and to a heading of one, has its target.
func TestLinks(t *testing.T) {
	pages := markdown(t)
	checked := 0
	for name, text := range pages {
		for _, m := range link.FindAllStringSubmatch(codeText.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			checked++
			file := name
			if target != "" {
				file = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s: %s: %v", name, m[1], err)
				continue
			}
			if anchor != "" && !anchors(pages[file])[anchor] {
				t.Errorf("%s: %s has no heading for #%s", name, file, anchor)
			}
		}
	}
	if checked < 150 {
		t.Errorf("checked %d links, want those of the repository", checked)
	}
}

// anchors are the names by which links find the headings of a page, as GitHub makes them.
func anchors(page string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		text := link.ReplaceAllString(m[1], "]")
		out[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(text), ""), " ", "-")] = true
	}
	return out
}
