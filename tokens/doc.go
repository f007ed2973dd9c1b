// Package tokens counts tokens as the model families do.
//
// [Words] counts words between white space. [Get] returns an [Encoding] of the tiktoken
// family by its name. The vocabularies are part of the program; all users of an encoding
// share one, which the first count loads:
//
//	enc, err := tokens.Get("cl100k_base")
//	if err != nil {
//		return err
//	}
//	counts, err := enc.Count(ctx, "hello world", "and more")
//
// [LookupModel] says which encoding a model uses. The vocabulary of Claude is not public.
// For such models an [Estimator] computes an interval and returns its upper end, and a
// [Calibration] narrows the interval with the usage figures of the provider.
//
// Texts are data: a text that looks like a special token, such as <|endoftext|>, is
// counted as ordinary text. Each byte of invalid UTF-8 counts as U+FFFD.
//
// # Cost
//
// cl100k_base and o200k_base count ordinary text at 30 to 90 MB/s, even without any white
// space, and stop when the context ends. tiktoken-go counts p50k_base and r50k_base, at a
// tenth of that speed. There the time grows with the square of the length of a run of
// letters without white space: 64 KiB take about a second, 1 MiB takes minutes. When the
// context ends, Count returns, but such a long count continues in the background. Only a
// few of them may run at a time.
//
// An unknown model is no error, because new models appear every week. Its tokens are estimated
// between the bounds of the known ones.
package tokens
