package connect

import (
	"fmt"
	"strings"
)

// around is how many lines that stay are shown around a change.
const around = 2

// maxCompared bounds the lines that are compared one by one. Of more, all are shown as changed.
const maxCompared = 4000

// Diff shows the change as lines that go (-) and come (+), with a few around them.
func (c *Change) Diff() string {
	before, after := lines(c.Before), lines(c.After)
	head := 0
	for head < min(len(before), len(after)) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < min(len(before), len(after))-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", nameOf(c.Path, c.Before), nameOf(c.Path, c.After))
	for _, line := range before[max(0, head-around):head] {
		b.WriteString("  " + line + "\n")
	}
	compare(&b, before[head:len(before)-tail], after[head:len(after)-tail])
	for _, line := range after[len(after)-tail : len(after)-tail+min(tail, around)] {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

func nameOf(path string, data []byte) string {
	if data == nil {
		return path + " (no file)"
	}
	return path
}

func lines(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// compare writes the lines of two texts, those of the longest common subsequence once. Long runs of lines that stay
// are left out.
func compare(b *strings.Builder, before, after []string) {
	if len(before) > maxCompared || len(after) > maxCompared || len(before)*len(after) > maxCompared*maxCompared/4 {
		fmt.Fprintf(b, "- (%d lines)\n+ (%d lines)\n", len(before), len(after))
		return
	}
	longest := make([][]uint16, len(before)+1)
	for i := range longest {
		longest[i] = make([]uint16, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); before[i] == after[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	var same []string
	flush := func() {
		if len(same) > 2*around+1 {
			same = append(append(same[:around:around], "…"), same[len(same)-around:]...)
		}
		for _, line := range same {
			b.WriteString("  " + line + "\n")
		}
		same = same[:0]
	}
	for i < len(before) || j < len(after) {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			same = append(same, before[i])
			i, j = i+1, j+1
		case j == len(after) || i < len(before) && longest[i+1][j] >= longest[i][j+1]:
			flush()
			b.WriteString("- " + before[i] + "\n")
			i++
		default:
			flush()
			b.WriteString("+ " + after[j] + "\n")
			j++
		}
	}
	flush()
}
