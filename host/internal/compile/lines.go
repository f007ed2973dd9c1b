package compile

import (
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/lines"
)

// An engine names the offsets of instructions in the stack of a trap only if the module has debug
// information. So with [Options.Lines] a module that has a table of lines gets one line of such
// information, which is the same for all code. The engine writes "0x1f: MARK:1" under each function.
// That offset is one of the rewritten code. It is mapped to the original, and from there to the
// lines of the table.

// markOf is the name of the file in the debug information of a module.
func markOf(s *Source) string { return "anchor-" + hex.EncodeToString(s.Digest[:8]) }

// offsetLine is a line of a stack with the offset of an instruction, and a mark.
var offsetLine = regexp.MustCompile(`^\t*0x([0-9a-f]{1,8}): ([^:]*):1\n?$`)

// withLines puts the lines of a module's source into a stack, in place of the offsets of its
// instructions. o are the options that the module was rewritten with.
func withLines(stack string, s *Source, o wasmbin.MeterOptions) string {
	mark := markOf(s)
	if !strings.Contains(stack, mark) {
		return stack
	}
	places, err := placesOf(s, o)
	var out strings.Builder
	for line := range strings.Lines(stack) {
		found := offsetLine.FindStringSubmatch(line)
		if found == nil || found[2] != mark {
			out.WriteString(line)
			continue
		}
		offset, _ := strconv.ParseUint(found[1], 16, 32) // it has at most eight digits
		for _, place := range places(uint32(offset)) {
			out.WriteString("\t\t" + guesttext.Line(place) + "\n")
		}
	}
	stack = strings.TrimSuffix(out.String(), "\n")
	if err != nil {
		stack += "\n(no lines of source: " + guesttext.Line(err.Error()) + ")"
	}
	return stack
}

// lineSection returns a module and its section of lines, nil if it has none.
func lineSection(s *Source) (bin, section []byte, err error) {
	if bin, err = s.Bytes(); err == nil {
		section, _, err = wasmbin.Custom(bin, lines.Section)
	}
	return bin, section, err
}

// hasLines reports whether a module has a table of lines. If it cannot be read, compiling says so.
func hasLines(s *Source) bool {
	_, section, err := lineSection(s)
	return err == nil && section != nil
}

// placesOf returns what finds the lines of source of an offset in the rewritten module.
func placesOf(s *Source, o wasmbin.MeterOptions) (func(offset uint32) []string, error) {
	none := func(uint32) []string { return nil }
	bin, section, err := lineSection(s)
	if err != nil {
		return none, err
	}
	table, err := lines.Parse(section)
	if err != nil {
		return none, err
	}
	original, err := wasmbin.Original(bin, o)
	if err != nil {
		return none, err
	}
	return func(offset uint32) []string { return table.At(original(offset)) }, nil
}

// traceSections are custom sections with DWARF 4: one unit with one line for all code, whose file
// is mark.
func traceSections(mark string) []byte {
	const end = 0x7fff_fff0                                                   // engines take 0, -1 and -2 for addresses of removed code
	abbrev := []byte{1, 0x11, 0, 0x11, 0x01, 0x12, 0x06, 0x10, 0x17, 0, 0, 0} // a unit: low_pc, high_pc, stmt_list
	info := append([]byte{4, 0, 0, 0, 0, 0, 4, 1}, le32(1)...)                // version 4, addresses of 4 bytes, the unit
	info = append(append(info, le32(end-1)...), le32(0)...)
	header := []byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0} // operands of the standard opcodes, no folders
	header = append(append(append(header, mark...), 0, 0, 0, 0), 0)
	program := append([]byte{0, 5, 2}, le32(1)...)
	program = append(binary.AppendUvarint(append(program, 1, 2), end-1), 0, 1, 1) // a row, advance to the end, the end
	line := append([]byte{4, 0}, le32(len(header))...)
	line = append(append(line, header...), program...)
	return slices.Concat(section(".debug_abbrev", abbrev), section(".debug_info", withSize(info)), section(".debug_line", withSize(line)))
}

// section is a custom section.
func section(name string, content []byte) []byte {
	body := append(append(binary.AppendUvarint(nil, uint64(len(name))), name...), content...)
	return append(binary.AppendUvarint([]byte{0}, uint64(len(body))), body...)
}

func withSize(b []byte) []byte { return append(le32(len(b)), b...) }

func le32(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
