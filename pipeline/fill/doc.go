// Package fill puts items into windows. A [Strategy] decides which items are tried first, a
// [Budget] what each source may take, [Fit] whether the counts of the items or the formatted
// output must fit, [Truncation] which texts may be cut, and [WindowOrder] in which order
// the context is written.
package fill
