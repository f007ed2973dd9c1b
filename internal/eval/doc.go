// Package eval measures how good the context windows of a pipeline are, against
// a collection of queries with judged documents in the form of BEIR.
//
// One build per query is observed through a pipeline callback: the ranking after
// each step, and the ranking of what the budget let into the window. The
// difference between two neighbouring stages is what a step gained or lost; the
// last one is what the budget cut cost.
//
//	run, err := eval.Evaluate(ctx, assembly, set, eval.Options{Metrics: metrics})
//	report := eval.NewReport(run, "anchor.yaml")
//
// The pipeline must have been made with the callback of [Callback].
//
// # Metrics
//
// [Metric] follows trec_eval. A document is relevant from grade 1, its gain for
// nDCG is its grade, divided by the binary logarithm of its rank plus one; the
// best possible order of all judged documents is the ideal. Precision divides by
// k even when fewer documents came back; average precision and recall divide by
// the number of relevant documents. A query for which nothing came back counts
// as 0, as with trec_eval -c. Queries without relevant documents are left out
// and counted. The kinds that begin with "seed_" follow the seed system where it
// differs: binary gains, precision over the number returned, an ideal no longer
// than what was returned, everything within the first k.
//
// # Rankings
//
// A stage is ranked as the window is filled: by priority, then score, both
// descending. Ties are broken as trec_eval does, by document id in descending
// byte order, so that a figure does not depend on the order of a list; or, on
// demand, by that order. A document of several items has the rank of its best.
package eval
