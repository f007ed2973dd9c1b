package abi

import (
	"errors"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

// Column is the id of one per-row column of a batch, and the name by which a
// manifest asks to read it.
type Column uint16

// The columns. ColumnEmbedding has the vector of each row.
const (
	ColumnID Column = iota + 1
	ColumnScore
	ColumnText
	ColumnMetadata
	ColumnSource
	ColumnPriority
	ColumnTokenCount
	ColumnCreatedAt
	ColumnEmbedding
)

// Columns are the columns that a manifest may ask to read, in the order of their ids.
var Columns = []Column{
	ColumnID, ColumnScore, ColumnText, ColumnMetadata, ColumnSource, ColumnPriority, ColumnTokenCount, ColumnCreatedAt,
	ColumnEmbedding,
}

// ErrUnknownName is wrapped by errors about unknown names of columns and changes.
var ErrUnknownName = errors.New("unknown name")

// String returns the name a manifest uses.
func (c Column) String() string {
	switch c {
	case ColumnID:
		return "id"
	case ColumnScore:
		return "score"
	case ColumnText:
		return "text"
	case ColumnMetadata:
		return "metadata"
	case ColumnSource:
		return "source"
	case ColumnPriority:
		return "priority"
	case ColumnTokenCount:
		return "token_count"
	case ColumnCreatedAt:
		return "created_at"
	case ColumnEmbedding:
		return "embedding"
	}
	return "column " + strconv.Itoa(int(c))
}

// ColumnByName returns the column of that name.
func ColumnByName(name string) (Column, bool) {
	for _, c := range Columns {
		if c.String() == name {
			return c, true
		}
	}
	return 0, false
}

// ColumnSet is a set of columns, bit i for Column i.
type ColumnSet uint16

// AllColumns is the set of [Columns].
const AllColumns ColumnSet = 1<<(ColumnEmbedding+1) - 1<<ColumnID

// Has reports whether c is in the set.
func (s ColumnSet) Has(c Column) bool { return s>>c&1 != 0 }

// With returns the set with c added.
func (s ColumnSet) With(c Column) ColumnSet { return s | 1<<c }

// Names returns the names of the columns in the order of their ids.
func (s ColumnSet) Names() []string {
	names := []string{}
	for _, c := range Columns {
		if s.Has(c) {
			names = append(names, c.String())
		}
	}
	return names
}

// String returns the names, separated by commas.
func (s ColumnSet) String() string { return strings.Join(s.Names(), ",") }

// ColumnsOf returns the set of the named columns. The error names the first
// unknown name and the valid ones.
func ColumnsOf(names []string) (ColumnSet, error) {
	var s ColumnSet
	for _, n := range names {
		c, ok := ColumnByName(n)
		if !ok {
			return 0, unknownName{"column", n, AllColumns.Names()}
		}
		s = s.With(c)
	}
	return s, nil
}

// The form of a guest's message about a column that it reads and that was not sent.
const (
	unsentBefore = "anchor: column "
	unsentAfter  = " was not sent"
)

// Unsent returns the message that a guest logs as a warning when it reads column c and the
// request does not have it. A host that knows the manifest says instead whose mistake it is.
func (c Column) Unsent() string { return unsentBefore + c.String() + unsentAfter }

// UnsentColumn returns the column that a message of [Column.Unsent] is about.
func UnsentColumn(message string) (Column, bool) {
	name, before := strings.CutPrefix(message, unsentBefore)
	name, after := strings.CutSuffix(name, unsentAfter)
	if !before || !after {
		return 0, false
	}
	return ColumnByName(name)
}

// Change is one kind of change a guest may make.
type Change string

// The changes.
const (
	ChangeKeep     Change = "keep"     // drop rows
	ChangeText     Change = "text"     // replace the text of rows
	ChangeMetadata Change = "metadata" // replace the metadata of rows
	ChangePriority Change = "priority" // replace the priority of rows
	ChangeScore    Change = "score"    // replace the score of rows
	ChangeItems    Change = "items"    // add new items
	ChangeOrder    Change = "order"    // put the survivors in a new order
)

// AllChanges are the changes in the order in which they are applied.
var AllChanges = []Change{
	ChangeKeep, ChangeText, ChangeMetadata, ChangePriority, ChangeScore, ChangeItems, ChangeOrder,
}

// ChangeSet is a set of changes, bit i for AllChanges[i].
type ChangeSet uint8

// Has reports whether c is in the set.
func (s ChangeSet) Has(c Change) bool { return s&changeBit(c) != 0 }

// With returns the set with c added; an unknown change adds nothing.
func (s ChangeSet) With(c Change) ChangeSet { return s | changeBit(c) }

// Names returns the names of the changes in the order of AllChanges.
func (s ChangeSet) Names() []string {
	names := []string{}
	for _, c := range AllChanges {
		if s.Has(c) {
			names = append(names, string(c))
		}
	}
	return names
}

// String returns the names, separated by commas.
func (s ChangeSet) String() string { return strings.Join(s.Names(), ",") }

// ChangesOf returns the set of the given changes. The error names the first
// unknown one and the valid ones.
func ChangesOf(changes []Change) (ChangeSet, error) {
	var s ChangeSet
	for _, c := range changes {
		if changeBit(c) == 0 {
			return 0, unknownName{"change", string(c), changeNames(AllChanges)}
		}
		s = s.With(c)
	}
	return s, nil
}

func changeBit(c Change) ChangeSet {
	for i, known := range AllChanges {
		if known == c {
			return 1 << i
		}
	}
	return 0
}

func changeNames(cs []Change) []string {
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = string(c)
	}
	return names
}

// unknownName is the error about a name that is not one of the valid ones.
type unknownName struct {
	kind, name string
	valid      []string
}

func (e unknownName) Error() string {
	return "unknown " + e.kind + " " + jsontext.Quote(e.name) + jsontext.WantOneOf(e.valid)
}

func (e unknownName) Unwrap() error { return ErrUnknownName }
