package jsbuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Trace says from which lines of which files the lines of a script are.
type Trace struct {
	// Files are paths relative to the folder of the project.
	Files []string `json:"files"`
	// Rows has four numbers a row: a line and a column of the script, both from 0, the index of a file
	// or -1, and a line of it, from 1. A row holds until the next one; each line of the script that follows
	// is the next line of the file.
	Rows []int `json:"rows"`
}

// maxRows bounds the rows of a trace. Errors further on name lines of the script.
const maxRows = 1 << 18

// trace reads a source map. It keeps of it what changes the line.
func trace(text []byte) (*Trace, error) {
	var m struct {
		Sources  []string `json:"sources"`
		Mappings string   `json:"mappings"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("source map: %w", err)
	}
	t := &Trace{Files: m.Sources, Rows: []int{}}
	for i, name := range t.Files {
		if strings.HasSuffix(name, "/anchor/"+globalsFile) {
			t.Files[i] = "anchor/" + globalsFile
		}
	}
	var at [4]int // column of the script, file, line, column of the file
	line := 0
	for group := range strings.SplitSeq(m.Mappings, ";") {
		at[0] = 0
		for segment := range strings.SplitSeq(group, ",") {
			n, err := addVLQ(segment, &at)
			if err != nil {
				return nil, err
			}
			if n == 0 || len(t.Rows) >= 4*maxRows {
				continue
			}
			if n < 4 || at[1] < 0 || at[1] >= len(m.Sources) {
				t.row(line, at[0], -1, 0)
			} else {
				t.row(line, at[0], at[1], at[2]+1)
			}
		}
		line++
	}
	return t, nil
}

// row adds a row if the last one does not say the same.
func (t *Trace) row(line, column, file, of int) {
	if n := len(t.Rows); n > 0 && t.Rows[n-2] == file && (file < 0 || t.Rows[n-1]+line-t.Rows[n-4] == of) {
		return
	}
	t.Rows = append(t.Rows, line, column, file, of)
}

// addVLQ adds the numbers of a segment of a source map to those before it, and returns how many there are.
func addVLQ(segment string, at *[4]int) (n int, err error) {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	value, shift := 0, 0
	for i := range len(segment) {
		d := strings.IndexByte(digits, segment[i])
		if d < 0 || shift > 30 {
			return 0, errors.New("source map: is no list of numbers")
		}
		value |= d & 31 << shift
		if shift += 5; d&32 != 0 {
			continue
		}
		if value&1 != 0 {
			value = -value
		}
		if n < len(at) {
			at[n] += value / 2
		}
		n, value, shift = n+1, 0, 0
	}
	return n, nil
}

// at returns the file and the line that an offset in a script is from.
func (t *Trace) at(script string, offset int) (file string, line int) {
	before := script[:offset]
	l := strings.Count(before, "\n")
	c := offset - 1 - strings.LastIndexByte(before, '\n')
	file, line = "the bundle", l+1
	for i := 0; i < len(t.Rows) && (t.Rows[i] < l || t.Rows[i] == l && t.Rows[i+1] <= c); i += 4 {
		if file, line = "the bundle", l+1; t.Rows[i+2] >= 0 {
			file, line = t.Files[t.Rows[i+2]], t.Rows[i+3]+l-t.Rows[i]
		}
	}
	return file, line
}
