// Package shadows describes the second versions of steps, which a configuration names with shadow: how they
// compare with the first ones.
package shadows

// Dropped are calls that the second version did not get.
type Dropped struct {
	// Busy: too many were waiting. Fuel: the fuel of the minute was used. Large: the items were too many.
	Busy  int64 `json:"busy"`
	Fuel  int64 `json:"fuel"`
	Large int64 `json:"large"`
}

// Mean is the mean of values, between 0 and 1 if nothing else is said, with an interval that has it at all times at once. Of all
// intervals of a report, any is ever wrong with a probability of at most 0.05.
type Mean struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Quality compares what both versions found for questions whose documents are known, each question once. A call that the
// second version failed does not count, so that one that fails where questions are hard looks better than it is.
type Quality struct {
	// Questions is how many were compared, and Judged how many there are.
	Questions int64 `json:"questions"`
	Judged    int64 `json:"judged"`
	// First and Second are means of the nDCG of what fits in the window, from 0 to 1.
	First  float64 `json:"first"`
	Second float64 `json:"second"`
	// Difference is that of Second and First, from -1 to 1. If its interval does not have 0, one version is better.
	Difference Mean `json:"difference"`
	// Problem says why the questions cannot be read.
	Problem string `json:"problem,omitempty"`
}

// Side has the means of one version, over the calls that both have answered.
type Side struct {
	// Milliseconds, Tokens and Fuel are means of a call.
	Milliseconds float64 `json:"ms"`
	Tokens       float64 `json:"tokens"`
	Fuel         float64 `json:"fuel"`
}

// Comparison compares both versions of a step.
type Comparison struct {
	// Step is the name of the step, and Use what the second version uses.
	Step string `json:"step"`
	Use  string `json:"use"`
	// Calls is the number of calls that the second version got, and Dropped are those that it did not get.
	Calls   int64   `json:"calls"`
	Dropped Dropped `json:"dropped"`
	// Failures is the share of its calls that failed. LastError is why the last of them did.
	Failures  Mean   `json:"failures"`
	LastError string `json:"last_error,omitempty"`
	// Overlap is how many of the items of both versions both have, by their texts: 1 is all. Order is the
	// rank correlation of those (Kendall's tau), from 0, the reverse order, to 1, the same; 0.5 is none.
	Overlap Mean `json:"overlap"`
	Order   Mean `json:"order"`
	// Changed is the share of the calls with other items or another order, and Slower that of the calls in
	// which the second version took longer.
	Changed Mean `json:"changed"`
	Slower  Mean `json:"slower"`
	// Quality is nil without judged questions.
	Quality *Quality `json:"quality,omitempty"`
	// First and Second are the means of both versions.
	First  Side `json:"first"`
	Second Side `json:"second"`
}
