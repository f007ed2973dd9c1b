// Package fill puts items into windows. A [Budget] says what each source may take at most.
//
// By default the counts of the items must fit ([FitItems]): the first that fit, by
// priority and score. [FitExact] counts what the formatter writes instead, headings,
// separators, roles and tool schemas included ([CountOptions] has the formula), and the
// result says how many tokens that was and how they were counted ([Counting]). The
// output of such a build is never over its budget, and no item was left out that would
// have fitted when its turn came.
//
// Tokens of parts do not add up to those of a text, because tokens go across the seams.
// An exact build therefore counts only what changes from one try to the next, where the
// tokenizer knows places at which tokens do add up, and in the end counts the output
// as a whole; should the two ever disagree, it starts over and counts the whole each
// time. With a formatter or tokenizer that is a plugin it formats and counts for each
// try, several items at once as long as they fit.
//
// A [Strategy] decides which items are tried first, and [Diagnostic] how far the
// choice is from the best that could be; [Truncation] cuts texts; [WindowOrder] is the
// order in which the context is written.
package fill
