package plugincmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/appendjson"
	"github.com/anchor-host/anchor-host/internal/atomicfile"
)

// updates are the cases of a run whose expectations are rewritten.
type updates struct{ list []update }

type update struct {
	file, name, detail string
	was, now           conformance.Expect
}

// add implements Options.Update of package conformance.
func (u *updates) add(c *conformance.OwnCase, was conformance.Expect, detail string) {
	for i := range u.list {
		if u.list[i].file == c.File && u.list[i].name == c.Name { // the other lane
			u.list[i].now = c.Expect
			return
		}
	}
	u.list = append(u.list, update{c.File, c.Name, detail, was, c.Expect})
}

// write rewrites the files, and says what changed.
func (u *updates) write(a *cli.App) error {
	for _, one := range u.list {
		before, now := cli.OneCell(textOf(one.was)), cli.OneCell(textOf(one.now))
		if err := rewrite(one.file, one.name, one.now); err != nil {
			return fmt.Errorf("flag --update: %w", err)
		}
		a.Say("updated %s: %q: %s", one.file, one.name, cli.OneCell(one.detail))
		a.Say("  - %.1000s", before)
		a.Say("  + %.1000s", now)
	}
	return nil
}

func textOf(e conformance.Expect) string {
	b, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// rewrite replaces what a case of a file expects, and leaves everything else as it is.
func rewrite(file, name string, expect conformance.Expect) error {
	b, err := readCaseFile(file)
	if err != nil {
		return err
	}
	from, to, err := expectAt(b, name)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	text, err := appendjson.Append(nil, expect)
	if err != nil {
		return err
	}
	if bytes.ContainsRune(b[from:to], '\n') {
		line := b[bytes.LastIndexByte(b[:from], '\n')+1:]
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		var lines bytes.Buffer
		if err := json.Indent(&lines, text, string(indent), "  "); err != nil {
			return err
		}
		text = lines.Bytes()
	}
	return atomicfile.Write(file, 0o644, slices.Concat(b[:from], text, b[to:]))
}

// expectAt finds the value of the member expect of a case.
func expectAt(b []byte, name string) (from, to int, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	t, err := d.Token()
	if err != nil {
		return 0, 0, err
	}
	list := t == json.Delim('[')
	for i := 0; !list && i == 0 || list && d.More(); i++ {
		if list {
			if _, err = d.Token(); err != nil {
				return 0, 0, err
			}
		}
		found := ""
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return 0, 0, err
			}
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				return 0, 0, err
			}
			switch end := int(d.InputOffset()); key {
			case "name":
				if err := json.Unmarshal(value, &found); err != nil {
					return 0, 0, err
				}
			case "expect":
				from, to = end-len(value), end
			}
		}
		if _, err := d.Token(); err != nil {
			return 0, 0, err
		}
		if found == name && to > from {
			return from, to, nil
		}
		from, to = 0, 0
	}
	return 0, 0, fmt.Errorf("there is no case %q any more", name)
}
