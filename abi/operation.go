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
	OpDistill        Operation = "distill"
	OpExtract        Operation = "extract"
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
func (op Operation) BatchExport() string {
	const prefix = "anchor_batch_"
	switch op { // constants for the operations of the batch lane: no allocation per call
	case OpRetrieve:
		return string(prefix + OpRetrieve)
	case OpProcess:
		return string(prefix + OpProcess)
	case OpFilter:
		return string(prefix + OpFilter)
	case OpRerank:
		return string(prefix + OpRerank)
	}
	return prefix + string(op)
}

// Valid reports whether op is an operation of ABI 1.
func (op Operation) Valid() bool {
	_, ok := LookupOperation(op)
	return ok
}

// OperationInfo is a row of the table [Operations].
type OperationInfo struct {
	Op Operation
	// Batch says that the operation also has a batch lane.
	Batch bool
	// Step says that the operation can be a step of a build.
	Step bool
	// TopK says that the request carries the largest number of items to return.
	TopK bool
	// Answer says that status 0 requires an output that is not empty.
	Answer bool
	// Request and Reply are the names of the documents of the JSON lane; Reply
	// is empty when there is no answer.
	Request, Reply string
	// Reads are the columns the operation may read.
	Reads []Column
	// Parts are the parts of the request besides columns that a manifest may name. None
	// means that the request has nothing to leave out.
	Parts []Part
	// Writes are the changes the operation may make.
	Writes []Change
	// DefaultWrites are the changes if the manifest states none.
	DefaultWrites []Change
}

// Operations is every operation of ABI 1.
var Operations = []OperationInfo{
	{Op: OpInit, Request: "InitRequest"},
	{Op: OpRetrieve, Batch: true, Step: true, TopK: true, Answer: true, Request: "ItemsRequest", Reply: "Changes", Parts: queryParts,
		Writes: addItems, DefaultWrites: addItems},
	{Op: OpProcess, Batch: true, Step: true, Answer: true, Request: "ItemsRequest", Reply: "Changes", Parts: queryParts,
		Reads: Columns, Writes: AllChanges, DefaultWrites: []Change{ChangeKeep, ChangeText, ChangeMetadata}},
	{Op: OpFilter, Batch: true, Step: true, Answer: true, Request: "ItemsRequest", Reply: "Changes", Parts: queryParts,
		Reads: Columns, Writes: []Change{ChangeKeep}, DefaultWrites: []Change{ChangeKeep}},
	{Op: OpRerank, Batch: true, Step: true, TopK: true, Answer: true, Request: "ItemsRequest", Reply: "Changes", Parts: queryParts,
		Reads: Columns, Writes: []Change{ChangeScore, ChangeOrder}, DefaultWrites: []Change{ChangeScore, ChangeOrder}},
	{Op: OpTransformQuery, Step: true, Answer: true, Request: "QueryRequest", Reply: "TransformReply", Parts: queryParts},
	{Op: OpClassify, Step: true, Answer: true, Request: "QueryRequest", Reply: "ClassifyReply", Parts: queryParts},
	{Op: OpEnrichQuery, Answer: true, Request: "ItemsRequest", Reply: "EnrichReply", Parts: queryParts, Reads: Columns},
	{Op: OpMemory, Answer: true, Request: "ItemsRequest", Reply: "MemoryReply", Parts: queryParts,
		Writes: addItems, DefaultWrites: addItems},
	{Op: OpCompact, Answer: true, Request: "CompactRequest", Reply: "CompactReply", Parts: compactParts},
	{Op: OpDistill, Answer: true, Request: "DistillRequest", Reply: "DistillReply", Parts: distillParts},
	{Op: OpExtract, Answer: true, Request: "ExtractRequest", Reply: "ExtractReply", Parts: extractParts},
	{Op: OpProvide, Answer: true, Request: "ProvideRequest", Reply: "ProvideReply", Parts: provideParts},
	{Op: OpEstimateTokens, Answer: true, Request: "ProvideRequest", Reply: "EstimateReply", Parts: provideParts},
	{Op: OpFormat, Answer: true, Request: "FormatRequest", Reply: "FormatReply", Parts: windowParts, Reads: Columns},
	{Op: OpCountTokens, Answer: true, Request: "CountRequest", Reply: "CountReply"},
	{Op: OpObserve, Request: "Event", Parts: eventParts},
}

var addItems = []Change{ChangeItems}

// LookupOperation returns the row of op.
func LookupOperation(op Operation) (OperationInfo, bool) {
	for _, info := range Operations {
		if info.Op == op {
			return info, true
		}
	}
	return OperationInfo{}, false
}
