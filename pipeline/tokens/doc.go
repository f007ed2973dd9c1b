// Package tokens counts tokens as the model families do.
//
// [Words] counts what lies between white space. [Get] names an [Encoding] of
// the tiktoken family; its vocabulary is part of the program, is loaded when it
// is first needed and is then shared:
//
//	enc, err := tokens.Get("cl100k_base")
//	if err != nil {
//		return err
//	}
//	counts, err := enc.Count(ctx, "hello world", "and more")
//
// [LookupModel] says which encoding a model uses. The vocabulary of Claude is not
// public: an [Estimator] counts for it by an interval, of which it gives the upper end,
// and a [Calibration] narrows the interval from the usage figures of the provider.
//
// Texts are data: what looks like a special token, such as <|endoftext|>, is
// counted as the ordinary text it is. Invalid UTF-8 counts as U+FFFD, one per
// byte.
//
// # Cost
//
// cl100k_base and o200k_base count ordinary text at 30 to 90 MB/s, unbroken
// runs included, and stop when the context ends. p50k_base and r50k_base are
// counted by tiktoken-go, at a tenth of that; there the time grows with the
// square of the length of an unbroken run of letters (64 KiB take about a
// second, 1 MiB minutes), and the context ends the wait, not the work: a long
// count that was given up goes on in the background, where only a few of them
// may run at a time.
package tokens
