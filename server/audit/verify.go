package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Head names a line by its number and its digest. Who knows the head of a log can tell whether all
// lines up to it are there.
type Head struct {
	// Seq is the number of a line, and Digest the SHA-256 of it, in hexadecimal.
	Seq    uint64
	Digest string
}

// String writes a head as [ParseHead] reads it.
func (h Head) String() string { return fmt.Sprintf("%d:%s", h.Seq, h.Digest) }

// MarshalText writes a head as [ParseHead] reads it.
func (h Head) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// ParseHead reads a head: the number of a line, a colon and its digest.
func ParseHead(s string) (Head, error) {
	number, digest, ok := strings.Cut(s, ":")
	seq, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil || len(digest) != len(first) {
		return Head{}, fmt.Errorf("audit: head: %w: want NUMBER:DIGEST as the log of the service has it, got %.100q", ErrInvalid, s)
	}
	return Head{seq, digest}, nil
}

// VerifyOptions say what [Verify] checks besides the chain.
type VerifyOptions struct {
	// Key verifies the signatures. nil: they are not verified.
	Key ed25519.PublicKey
	// Expect are heads that the log must have.
	Expect []Head
}

// Report is what [Verify] found.
type Report struct {
	// Files are the files in the order of their lines, and Lines the number of these.
	Files []string `json:"files"`
	Lines uint64   `json:"lines"`
	// First and Last are the numbers of the first and the last line.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Heads is the number of heads, and LastHead the last one. SignaturesVerified says whether their
	// signatures were.
	Heads              int   `json:"heads"`
	LastHead           *Head `json:"last_head,omitempty"`
	SignaturesVerified bool  `json:"signatures_verified"`
	// Unsigned is the number of lines after the last head.
	Unsigned uint64 `json:"unsigned"`
	// Lost is the number of lines that could not be written, as the log says.
	Lost int64 `json:"lost"`
	// Notes are what is not wrong, but worth knowing.
	Notes []string `json:"notes,omitempty"`
	// Broken is the first line that is not as it was written, nil if there is none.
	Broken *Broken `json:"broken,omitempty"`
}

// Broken is the place and the kind of damage.
type Broken struct {
	// File and Line, from 1, are the place. What says what is wrong there.
	File string `json:"file"`
	Line int    `json:"line"`
	What string `json:"what"`
}

// Verify reads the files of a log, and finds the first line that is not as it was written. The files
// may be given in any order. An error says that a file cannot be read; damage is in the report.
func Verify(files []string, o VerifyOptions) (*Report, error) {
	ordered, err := inOrder(files)
	if err != nil {
		return nil, err
	}
	v := &verifier{o: o, prev: first, report: Report{Files: ordered, SignaturesVerified: o.Key != nil}, expect: map[uint64]Head{}}
	for _, h := range o.Expect {
		v.expect[h.Seq] = h
	}
	for i, name := range ordered {
		if err := v.file(name, i == len(ordered)-1); err != nil {
			return nil, err
		}
		if v.report.Broken != nil {
			return &v.report, nil
		}
	}
	v.end()
	return &v.report, nil
}

// inOrder sorts files by the number of their first line. Those without a line come last.
func inOrder(files []string) ([]string, error) {
	type numbered struct {
		name string
		seq  uint64
	}
	list := make([]numbered, len(files))
	for i, name := range files {
		in, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("audit: verify: %w", err)
		}
		data, _, err := readLine(bufio.NewReaderSize(in, maxLine))
		_ = in.Close()
		var l line
		if err != nil && !errors.Is(err, errLong) || json.Unmarshal(data, &l) != nil {
			l.Seq = ^uint64(0)
		}
		list[i] = numbered{name, l.Seq}
	}
	slices.SortStableFunc(list, func(a, b numbered) int { return cmp.Compare(a.seq, b.seq) })
	ordered := make([]string, len(list))
	for i := range list {
		ordered[i] = list[i].name
	}
	return ordered, nil
}

var errLong = errors.New("the line is too long")

// readLine reads a line without its end. whole is false if the end is missing.
func readLine(in *bufio.Reader) (data []byte, whole bool, err error) {
	data, err = in.ReadSlice('\n')
	switch {
	case err == nil:
		return data[:len(data)-1], true, nil
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, false, errLong
	case errors.Is(err, io.EOF) && len(data) > 0:
		return data, false, nil
	}
	return nil, false, err
}

type verifier struct {
	o      VerifyOptions
	report Report
	prev   string
	expect map[uint64]Head
}

func (v *verifier) file(name string, isLast bool) error {
	in, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("audit: verify: %w", err)
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, maxLine)
	for number := 1; ; number++ {
		data, whole, err := readLine(r)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLong):
			v.report.Broken = &Broken{name, number, err.Error()}
			return nil
		case err != nil:
			return fmt.Errorf("audit: verify: read %s: %w", name, err)
		case !whole && isLast:
			v.note("%s ends in the middle of line %d: the service writes it, or was killed", name, number)
			return nil
		case !whole:
			v.report.Broken = &Broken{name, number, "the line has no end, but another file follows"}
			return nil
		}
		if what := v.line(data); what != "" {
			v.report.Broken = &Broken{name, number, what}
			return nil
		}
	}
}

func (v *verifier) note(format string, args ...any) {
	v.report.Notes = append(v.report.Notes, fmt.Sprintf(format, args...))
}

// line checks the next line, and says what is wrong with it.
func (v *verifier) line(data []byte) (what string) {
	var l line
	if err := json.Unmarshal(data, &l); err != nil || l.Seq == 0 {
		return "it is no line of a log"
	}
	r := &v.report
	switch {
	case r.Lines == 0:
		r.First = l.Seq
		if l.Seq > 1 {
			v.prev = l.Prev
			v.note("the log begins with line %d: the files before it were not given", l.Seq)
		}
	case l.Seq != r.Last+1:
		return fmt.Sprintf("its number is %d, but %d is next: lines are missing, or in another order", l.Seq, r.Last+1)
	}
	if l.Prev != v.prev {
		return fmt.Sprintf("it does not follow the line before it: line %d was changed, or this one", l.Seq-1)
	}
	v.prev = digestOf(data)
	r.Lines, r.Last, r.Unsigned = r.Lines+1, l.Seq, r.Unsigned+1
	if want, ok := v.expect[l.Seq]; ok && want.Digest != v.prev {
		return fmt.Sprintf("it is not the line of the head %s that is expected", want)
	}
	if l.Action == "audit.lost" {
		r.Lost += l.Count
	}
	if l.Head != nil {
		return v.head(&l, data)
	}
	return ""
}

// head checks the signature of a head.
func (v *verifier) head(l *line, data []byte) (what string) {
	again, err := l.encode()
	if err != nil || !bytes.Equal(again, data) {
		return "the head is not written as a log writes it"
	}
	if v.o.Key != nil {
		if l.Head.Key != KeyName(v.o.Key) {
			return fmt.Sprintf("the head was signed with another key, %.40q", l.Head.Key)
		}
		if !ed25519.Verify(v.o.Key, l.signed(), l.Head.Signature) {
			return "the signature of the head is wrong"
		}
	}
	v.report.Heads, v.report.Unsigned = v.report.Heads+1, 0
	v.report.LastHead = &Head{l.Seq, v.prev}
	return ""
}

// end says what the end of the log means.
func (v *verifier) end() {
	r := &v.report
	for _, h := range v.o.Expect {
		if h.Seq > r.Last || h.Seq < r.First {
			last := ""
			if len(r.Files) > 0 {
				last = r.Files[len(r.Files)-1]
			}
			r.Broken = &Broken{last, int(min(r.Lines, 1<<31)), fmt.Sprintf("line %d of the head that is expected is missing: the end of the log was cut off, or a file was not given", h.Seq)}
			return
		}
	}
	switch {
	case r.Lines == 0:
		v.note("the log has no lines")
	case r.Unsigned > 0:
		v.note("no head covers the last %d lines: the service runs, or was killed, or the end was cut off; anybody with the file could have written them", r.Unsigned)
	}
	if len(v.o.Expect) == 0 {
		v.note("whether lines are missing at the end shows only a head that was kept elsewhere (--expect)")
	}
	if r.Lost > 0 {
		v.note("%d lines could not be written, as the log says itself", r.Lost)
	}
}
