// Package fill puts items into windows. A [Budget] says how much each source has at least and
// at most. What a source does not use of its minimum, items of others may use.
//
// By default the token counts of the items must fit ([FitItems]): items are tried in the
// order of their priority and score, and each one that fits is admitted. [FitExact] counts
// the output of the formatter instead, with its headings, separators, roles and tool schemas
// ([CountOptions] has the formula). The result says how many tokens the output has and how
// they were counted ([Counting]). The output of such a build never exceeds its budget, and
// every item that fits when it is tried is in the window.
//
// The token counts of the parts of a text do not add up to the count of the text, because
// tokens cross the boundaries between parts. Some tokenizers know places where the counts do
// add up. With these, an exact build counts only what changes from one try to the next. At
// the end it counts the output as a whole. If the two counts disagree, it starts again and
// counts the whole output each time. With a formatter or tokenizer that is a plugin, it
// formats and counts the window for each try, with several items at once while they fit.
//
// A [Strategy] decides which items are tried first, and a [Diagnostic] says how far the
// selection is from the best possible one. [Truncation] cuts texts. [WindowOrder] is the
// order in which the context is written.
//
// A strategy gives an order and does not choose: a choice might not fit once it is formatted, or
// might leave room for another item. [FitItems] is the default, so that a window that worked does
// not lose an item to its headings.
package fill
