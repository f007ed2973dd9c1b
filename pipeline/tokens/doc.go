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
// Texts are data: what looks like a special token, such as <|endoftext|>, is
// counted as the ordinary text it is. Invalid UTF-8 counts as U+FFFD, one per
// byte.
//
// # Cost
//
// Ordinary text is counted at some 3 to 10 MB/s. The time grows with the square
// of the length of an unbroken run of letters: 64 KiB of them take about a
// second, 1 MiB minutes. The caller's context ends the wait, not the work: a
// long count that was given up goes on in the background, where only a few of
// them may run at a time.
package tokens
