package abi

// Column is the id of one per-row column of a batch, and the name by which a
// manifest asks to read it.
type Column uint16

// The columns. ColumnEmbedding is reserved: no host sends it yet.
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

// ColumnSet is a set of columns, bit i for Column i.
type ColumnSet uint16

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
