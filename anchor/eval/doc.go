// Package eval measures how good the context windows of a pipeline are, against
// a collection of queries with judged documents in the form of BEIR.
//
// For each query, a pipeline callback observes one build: the ranking after each step, and
// the ranking in the window. The difference between two neighbouring stages is the gain or
// loss of a step. The last difference is the loss by the budget.
//
//	run, err := eval.Evaluate(ctx, p, set, eval.Options{Metrics: metrics})
//	report := eval.NewReport(run, "anchor.yaml")
//
// The pipeline must have been made with the callback of [Callback].
//
// # Metrics
//
// [Metric] follows trec_eval. A document is relevant if its grade is 1 or more. For nDCG the
// gain of a document is its grade divided by the binary logarithm of its rank plus one, and
// the ideal is the best possible order of all judged documents. Precision divides by k even
// when fewer documents came back. Average precision and recall divide by the number of
// relevant documents. A query without results counts as 0, as with trec_eval -c. Queries
// without relevant documents are left out and counted. The kinds that begin with "binary_"
// differ: gains are 0 or 1, precision divides by the number
// of results, the ideal is no longer than the results, and only the first k results count.
//
// # Rankings
//
// Each stage is ranked in the order in which the window is filled: by priority, then by
// score, both descending. As in trec_eval, the order among equals is by document id in
// descending byte order, so that figures do not depend on the order of a list. On request it
// is the order of the list instead. A document with several items has the rank of its best.
package eval
