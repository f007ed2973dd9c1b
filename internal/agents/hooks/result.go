package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline/providers"
)

// maxKept is the largest text, in bytes, that is kept and cut. A larger one stays as it is.
const maxKept = 8 << 20

// exact are the tools whose results an agent needs letter by letter, such as to edit a file.
var exact = []string{"read", "edit", "multiedit", "write", "notebookedit", "notebookread", "applypatch", "view", "str_replace_editor", "todowrite"}

// exempt reports whether the results of a tool are never cut: those that must be exact, and what our own server
// returns, which has budgets of its own.
func exempt(tool string) bool {
	name := strings.ToLower(tool)
	return strings.Contains(name, "anchor-host") || strings.Contains(name, "anchor_host") ||
		slices.Contains(exact, name) || slices.Contains(exact, plainName(tool))
}

// plainName is the name of a tool in the form that all clients share.
func plainName(tool string) string { return strings.ReplaceAll(strings.ToLower(tool), "_", "") }

// writers are the tools whose results say what the agent gave them.
var writers = []string{"edit", "multiedit", "write", "notebookedit", "applypatch", "todowrite"}

// textOf returns the texts in a result, one a line. Of a very large one it returns the beginning and the end.
func textOf(result json.RawMessage) string {
	const part = 128 << 10
	if len(result) > maxKept {
		ends := string(result[:part]) + "\n" + string(result[len(result)-part:])
		return strings.NewReplacer(`\n`, "\n", `\t`, " ", `\"`, `"`, `\\`, `\`).Replace(ends)
	}
	var b strings.Builder
	dec := json.NewDecoder(bytes.NewReader(result))
	for {
		token, err := dec.Token()
		if err != nil {
			return b.String()
		}
		if text, ok := token.(string); ok {
			b.WriteString(text)
			b.WriteByte('\n')
		}
	}
}

// failed reports whether a result says of itself that the tool failed or was stopped.
func failed(result map[string]json.RawMessage) bool {
	for _, name := range []string{"is_error", "isError", "interrupted", "error", "failed"} {
		if v := bytes.TrimSpace(result[name]); len(v) > 0 && !slices.Contains([]string{"false", "null", `""`, "0"}, string(v)) {
			return true
		}
	}
	for _, name := range []string{"exit_code", "exitCode", "returnCode"} {
		if v := bytes.TrimSpace(result[name]); len(v) > 0 && string(v) != "0" && string(v) != "null" {
			return true
		}
	}
	if v := bytes.TrimSpace(result["success"]); string(v) == "false" {
		return true
	}
	var kind string
	_ = json.Unmarshal(result["resultType"], &kind) // another type counts as none
	return kind != "" && kind != "success"
}

// cutResult returns a result whose long texts are cut to about most characters each, and the originals by their
// handles. All else keeps its bytes. It returns nil if there is nothing to cut.
func cutResult(result json.RawMessage, most int) (cut json.RawMessage, originals map[string]string, err error) {
	if len(result) <= most { // a JSON text has at least as many bytes as characters
		return nil, nil, nil
	}
	var object map[string]json.RawMessage
	if trimmed := bytes.TrimSpace(result); len(trimmed) > 0 && trimmed[0] == '{' {
		if err := json.Unmarshal(result, &object); err != nil {
			return nil, nil, err
		}
		if failed(object) {
			return nil, nil, nil
		}
	}
	c := cutter{most: most, originals: map[string]string{}}
	dec := json.NewDecoder(bytes.NewReader(result))
	if err := c.walk(result, dec); err != nil {
		return nil, nil, err
	}
	if len(c.originals) == 0 {
		return nil, nil, nil
	}
	return append(c.out, result[c.done:]...), c.originals, nil
}

// cutter copies a document and replaces long texts in it.
type cutter struct {
	most      int
	out       []byte
	done      int // bytes of the document that are copied
	originals map[string]string
}

// walk reads the values of a document. Names of members are never cut: their next token is a value.
func (c *cutter) walk(doc []byte, dec *json.Decoder) error {
	type level struct{ object, name bool }
	var levels []level
	for {
		before := int(dec.InputOffset())
		token, err := dec.Token()
		if err != nil {
			if len(levels) == 0 && before > 0 {
				return nil // the end
			}
			return err
		}
		top := len(levels) - 1
		text, isText := token.(string)
		isName := top >= 0 && levels[top].object && levels[top].name
		if d, ok := token.(json.Delim); ok {
			switch d {
			case '{', '[':
				levels = append(levels, level{d == '{', d == '{'})
				continue
			default:
				levels = levels[:top]
				top--
			}
		} else if isText && !isName {
			c.text(doc, before, int(dec.InputOffset()), text)
		}
		if top >= 0 && levels[top].object {
			levels[top].name = !isName
		}
		if len(levels) == 0 {
			return nil
		}
	}
}

// text replaces a text between two offsets if it is too long.
func (c *cutter) text(doc []byte, from, to int, text string) {
	if len(text) > maxKept || utf8.RuneCountInString(text) <= c.most || strings.HasPrefix(text, "data:") || isBase64(text) {
		return
	}
	from += bytes.IndexByte(doc[from:to], '"')
	short, handle := shorten(text, c.most)
	if len(short) >= len(text) { // the line about the cut is longer than what it is about
		return
	}
	quoted, err := encode(short)
	if err != nil {
		return // a string is always written
	}
	c.originals[handle] = text
	c.out = append(append(c.out, doc[c.done:from]...), bytes.TrimSpace(quoted)...)
	c.done = to
}

// isBase64 reports whether a text has no white space in its beginning, as images have it: half of one is worth
// nothing.
func isBase64(text string) bool {
	head := text[:min(len(text), 512)]
	return len(text) > 4096 && !strings.ContainsAny(head, " \n\t,{}[]():;\"'<>")
}

// shorten cuts the middle out of a text. A line in its place has the handle under which the whole text is kept.
func shorten(text string, most int) (short, handle string) {
	handle = providers.Handle(text)
	all := utf8.RuneCountInString(text)
	keep := int(int64(len(text)) * int64(max(most-160, most/2)) / int64(all))
	marker := fmt.Sprintf("[about %d of %d characters left out; %s]", all-most, all, providers.Ways(handle))
	return providers.JoinCut(text, marker, keep), handle
}
