package conformance

import (
	"slices"

	"github.com/anchor-host/anchor-host/abi"
)

// Case is one rule and how the kit checks it.
type Case struct {
	// ID is stable, such as "filter/subset".
	ID string `json:"id"`
	// Rule is the rule in one sentence.
	Rule string `json:"rule"`
	// Remedy says what an author does about a failure.
	Remedy string `json:"remedy"`
	// Operations are the operations that the case applies to. nil means all except init,
	// an empty list means the plugin as a whole.
	Operations []abi.Operation `json:"operations,omitzero"`
	// Lane is JSON or Batch when it applies to one lane, and empty for both.
	Lane string `json:"lane,omitempty"`

	// run checks the case. If it is nil, the answers to ordinary requests decide it.
	run func(p *probe) outcome
	// pair says that the case compares the lanes.
	pair bool
	// after is a case whose failure leaves nothing to check, "" for none.
	after string
	// long says that the case takes long, and that it may run beside others.
	long bool
}

var (
	whole   = []abi.Operation{}
	ofRows  = []abi.Operation{abi.OpProcess, abi.OpFilter, abi.OpRerank}
	changes = []abi.Operation{abi.OpRetrieve, abi.OpProcess, abi.OpFilter, abi.OpRerank}
	adding  = []abi.Operation{abi.OpRetrieve, abi.OpProcess, abi.OpMemory}
	reading = operationsThatRead()
	listed  = []abi.Operation{abi.OpProcess, abi.OpFilter, abi.OpRerank, abi.OpEnrichQuery, abi.OpFormat}
	lists   = append([]abi.Operation{abi.OpCompact, abi.OpDistill, abi.OpExtract, abi.OpProvide, abi.OpEstimateTokens, abi.OpCountTokens}, listed...)
)

// operationsThatRead are those of whose requests a manifest can name columns or parts.
func operationsThatRead() (out []abi.Operation) {
	for _, info := range abi.Operations {
		if len(info.Reads)+len(info.Parts) > 0 {
			out = append(out, info.Op)
		}
	}
	return out
}

// Cases returns every case, in the order in which they are run: cases about the
// plugin, then those about each operation and lane.
func Cases() []Case {
	cases := append(wholeCases(), answerCases()...)
	cases = append(cases, operationCases()...)
	cases = append(cases, inputCases()...)
	return append(cases, repeatCases()...)
}

func wholeCases() []Case {
	return []Case{
		{ID: caseStarts, Operations: whole, Rule: "The plugin starts, and its init accepts the settings.",
			Remedy: "look at what the guest wrote; init must not need what the plugin does not ask for (grants are flags)"},
		{ID: caseDefaults, Operations: whole, Rule: "The settings' schemas accept their own defaults.",
			Remedy: "correct the default that the message names; give a required setting a default, or give it to the test with --set"},
		{ID: caseUnknown, Operations: whole, Rule: "A setting that the schema does not name is refused.",
			Remedy: "leave additionalProperties out of the schema, or set it to false"},
		{ID: caseWrongType, Operations: whole, Rule: "Every setting refuses some values: it has a type, a list of values or another rule.",
			Remedy: "give the setting a type in the schema"},
		{ID: caseInitSame, Operations: whole, Rule: "The plugin started twice with the same settings answers the same.",
			Remedy: "let init depend on nothing but its settings and the files it may read"},
		{ID: caseUsed, Operations: whole, Rule: "The host can call every function for batches that the plugin exports.",
			Remedy: "export the two functions that the message names, as the helper libraries do, and look whether the linker drops them"},
	}
}

// answerCases are decided by the answers to ordinary requests.
func answerCases() []Case {
	return []Case{
		{ID: caseAnswers, Rule: "An ordinary request is answered: done or no change, in time, without an error.",
			Remedy: "look at the error and at what the guest wrote; plugin call runs one request"},
		{ID: caseDenied, Rule: "The plugin uses nothing that it is not granted.",
			Remedy: "ask for it in permissions with a reason, and grant it to the test with a flag"},
		{ID: caseMailbox, Operations: changes, Lane: Batch, Rule: "The mailbox is valid, reserve provides a buffer of the requested size, and the output is in the memory.",
			Remedy: "see section 5 of ABI.md: size 24 or more, addresses multiples of 8, output inside the memory"},
		{ID: caseDecodes, Rule: "The answer is a document or change set of the contract, never empty with status 0: each member once, by its name, of its type.",
			Remedy: "see sections 8 and 10 of ABI.md; return status 1 for no change"},
		{ID: caseUTF8, Rule: "Every text in an answer is UTF-8.",
			Remedy: "cut texts between code points, and repair bytes that come from elsewhere"},
		{ID: caseSize, Rule: "The answer is no longer than a host allows.", Remedy: "name rows instead of copying texts, or ask for more in limits.output"},
		{ID: caseLimits, Operations: adding, Rule: "No more items and tokens are added than a host allows.", Remedy: "return fewer or shorter items"},
		{ID: caseDeclared, Operations: ofRows, Rule: "Only changes that the manifest declares are made.",
			Remedy: "add the change to writes in the manifest, or do not make it"},
		{ID: caseReads, Operations: reading, Lane: JSON, Rule: "The plugin reads no column and no part of a request that the manifest does not name: a host never sends it.",
			Remedy: "name the column or part under reads of the operation, or do not read it", run: tryReads},
		{ID: caseRows, Operations: ofRows, Rule: "Rows in an answer exist in the request.", Remedy: "number rows from 0, as in the request, not by id"},
		{ID: caseOnce, Operations: ofRows, Rule: "Rows are named once per part, keep ascends, and what keep drops is not changed.",
			Remedy: "sort keep, and leave dropped rows alone"},
		{ID: caseScores, Operations: append([]abi.Operation{abi.OpRerank}, adding...), Rule: "Scores are numbers from 0 to 1.",
			Remedy: "divide by the largest score; no NaN, no infinity"},
		{ID: casePriority, Operations: adding, Rule: "Priorities are 1 to 10 and not above what the plugin is granted.",
			Remedy: "state max_priority in the manifest, or leave the priority out"},
		{ID: caseSource, Operations: adding, Rule: "New items state no source, or one that the step may state.", Remedy: "leave the source out"},
		{ID: caseContent, Operations: adding, Rule: "New items have content.", Remedy: "leave empty items out"},
		{ID: caseKey, Operations: adding, Rule: "The key of a new item is text for one line, without control characters.", Remedy: "make keys of names or digests"},
		{ID: caseSound, Operations: changes, Rule: "The change set keeps to the rest of section 10 of ABI.md.", Remedy: "see the rules of section 10"},
	}
}

// operationCases belong to one operation each.
func operationCases() []Case {
	one := func(id string, op abi.Operation, rule, remedy string) Case {
		return Case{ID: id, Operations: []abi.Operation{op}, Rule: rule, Remedy: remedy}
	}
	return []Case{
		one(caseFilter, abi.OpFilter, "A filter returns a subset: it says which rows stay and changes nothing.", "answer with keep alone"),
		one(caseRerank, abi.OpRerank, "A reranker returns a permutation: it drops, adds and edits nothing, and an order names every row once.",
			"list every row in order, or answer with scores; the host cuts to top_k"),
		one(caseOrder, abi.OpProcess, "An order names every surviving row once, old and new.", "list all survivors, and no dropped row"),
		one(caseRetrieve, abi.OpRetrieve, "A retriever adds items and does nothing else.", "answer with items alone"),
		{ID: caseTopK, Operations: []abi.Operation{abi.OpRetrieve}, Rule: "A retriever returns at most top_k items.",
			Remedy: "stop at top_k of the request", run: tryTopK},
		one(caseQueries, abi.OpTransformQuery, "There are 1 to 32 queries, each with text.", "return the query itself when there is no variant"),
		one(caseEnrich, abi.OpEnrichQuery, "The query does not become empty.", "return status 1 for no change"),
		one(caseDistill, abi.OpDistill, "Observations answer the mode observe, a reflection answers reflect, and none of them is blank.",
			"look at mode in the request; leave blank texts out, and return status 1 for no change"),
		one(caseExtract, abi.OpExtract, "Facts have text, a known type and a relevance of 0 to 1, and only facts of the request are updated or removed, each once.",
			"leave out facts without text, and name facts by the ids that the request has"),
		one(caseMessages, abi.OpProvide, "Messages have the role user, assistant, system or tool, and come from a provider that reads messages.", "use one of the four roles, and name messages in reads"),
		one(caseState, abi.OpProvide, "A changed state names observations, reflection or data that the provider reads, and nothing else.", "leave run_id and messages out of state, and what reads does not name"),
		one(caseEstimate, abi.OpEstimateTokens, "An estimate is 0 or more.", "return 0 when nothing is known"),
		one(caseFormat, abi.OpFormat, "There is an output, and format_type is one line of at most 64 bytes.", "a formatter has no default: always set output"),
		one(caseCounts, abi.OpCountTokens, "There is one count per text, 0 or more.", "count every text, the empty one too"),
	}
}

// inputCases send uncommon requests.
func inputCases() []Case {
	const careful = "take every request as it comes: nothing in it is promised but its form"
	send := func(id string, ops []abi.Operation, rule, remedy string, shapes ...shape) Case {
		return Case{ID: id, Operations: ops, Rule: rule, Remedy: remedy, run: func(p *probe) outcome { return p.try(shapes...) }}
	}
	empty := ""
	return []Case{
		send(caseEmpty, lists, "A request without items is answered.", "check the number of rows before the first", shape{n: 0, bare: true, query: &empty}, shape{n: 0}),
		send(caseOne, lists, "A request with one item is answered.", "mind divisions by the number of rows less one", shape{n: 1}),
		send(caseMany, append([]abi.Operation{abi.OpRetrieve}, lists...), "5,000 items are answered.", "mind quadratic work and fixed buffers", shape{n: manyItems}),
		{ID: caseLarge, Operations: lists, long: true, Rule: "An item of 10 MB is answered, or refused without a trap, and the next call works.",
			Remedy: "mind fixed buffers; refuse with an error message what is too large", run: tryLarge},
		send(caseScripts, nil, "Texts in many scripts are answered, with rows and offsets in their places.", "texts are UTF-8: mind bytes and characters", scriptsShape()),
		send(caseControl, nil, "Control characters, combining marks on their own and empty texts are answered.", "escape what is written as JSON; "+careful, controlShape()),
		send(caseNoMetadata, nil, "Items without id, score, time, metadata and token count are answered, and queries without history.", careful, bareShape()),
		send(caseMetadata, listed, "Metadata of every kind is answered: null, 64-bit integers, nested lists, odd keys.", careful, metadataShape()),
		send(caseAlike, ofRows, "Items with the same id and text are answered as rows of their own.", "distinguish rows by number, not by id", shape{n: 5, alike: true}),
		{ID: caseLater, Rule: "Members, sections and columns of a later version are skipped.", Remedy: "do not decode requests strictly", run: tryLater},
		send(caseNoRoom, changes, "A request with a room of one token is answered.", "tokens_left is a hint: never divide by it", shape{n: 5, tokens: 1}),
	}
}

func repeatCases() []Case {
	return []Case{
		{ID: caseAgain, Rule: "A second call of the same instance works.",
			Remedy: "init runs once and calls many times: a call must not consume data that init made", run: tryAgain},
		{ID: caseSame, Rule: "The same request gets the same answer, independent of earlier requests.",
			Remedy: "keep nothing from call to call, initialise what you read, and take clock and random numbers from the request", run: trySame},
		{ID: caseLanes, Operations: changes, Rule: "Both lanes give the same answer.", Remedy: "write one function and serve both lanes from it", pair: true, run: tryLanes},
		{ID: caseExtism, Lane: JSON, after: caseSame, Rule: "A request in the Extism input gets the same answer as one in the mailbox.",
			Remedy: "where document of the mailbox is 0, read the Extism input and set the Extism output, see section 5 of ABI.md", run: tryExtism},
		{ID: caseCancelled, Rule: "A call that is cancelled in the middle ends soon, and the next call works.",
			Remedy: "leave nothing half done outside of the guest's memory", run: tryCancelled},
		{ID: caseGrowth, after: caseAgain, long: true, Rule: "Many calls of one instance do not make its memory grow.",
			Remedy: "free what a call allocates, or reset the allocator when a call begins", run: tryGrowth},
	}
}

// applies says whether the case is about an operation in a lane.
func (c *Case) applies(op abi.Operation, lane string) bool {
	if c.Lane != "" && c.Lane != lane {
		return false
	}
	return c.Operations == nil || slices.Contains(c.Operations, op)
}
