package abi

// Operation names what a guest can do. The wire names are the constants.
type Operation string

// The operations of ABI 1.
const (
	OpInit           Operation = "init"
	OpRetrieve       Operation = "retrieve"
	OpProcess        Operation = "process"
	OpFilter         Operation = "filter"
	OpRerank         Operation = "rerank"
	OpTransformQuery Operation = "transform_query"
	OpClassify       Operation = "classify"
	OpEnrichQuery    Operation = "enrich_query"
	OpMemory         Operation = "memory"
	OpCompact        Operation = "compact"
	OpProvide        Operation = "provide"
	OpEstimateTokens Operation = "estimate_tokens"
	OpFormat         Operation = "format"
	OpCountTokens    Operation = "count_tokens"
	OpObserve        Operation = "observe"
)

// JSONExport is the name of the export of op in the JSON lane, () -> i32.
func (op Operation) JSONExport() string { return "anchor_" + string(op) }

// BatchExport is the name of the export of op in the batch lane,
// (ptr, len i32) -> i32.
func (op Operation) BatchExport() string { return "anchor_batch_" + string(op) }

// OperationInfo is a row of the table [Operations].
type OperationInfo struct {
	Op Operation
	// Batch says that the operation has a batch lane too.
	Batch bool
	// Reads are the columns the operation may read.
	Reads []Column
	// Writes are the changes the operation may make.
	Writes []Change
	// DefaultWrites hold when the manifest states no writes.
	DefaultWrites []Change
}
