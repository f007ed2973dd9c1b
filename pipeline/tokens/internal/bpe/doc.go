// Package bpe counts and cuts text in the tokens of OpenAI's byte-pair
// encodings, exactly and without regular expressions.
//
//	e, err := bpe.Get("o200k_base")
//	n, err := e.Count(ctx, text)                    // exact
//	n, exceeded, err := e.CountTo(ctx, text, 8192)  // stops behind the limit
//	head, err := e.Truncate(ctx, text, 8192)        // longest prefix that fits
//
// # What exact means
//
// The result is the number of tokens that tiktoken-go v0.1.8 gives for
// EncodeOrdinary: text that looks like a special token is ordinary text. The
// tests compare the two token by token. Where tiktoken-go differs from OpenAI's
// own implementation, this package follows tiktoken-go:
//
//   - A byte that is no part of valid UTF-8 is read as U+FFFD, each byte for
//     itself, and counted as the three bytes of that character. [Encoding.Truncate]
//     returns such bytes as they are and may cut between them.
//   - Letters, numbers, marks and whitespace are what the unicode package of the
//     Go release says. OpenAI's implementation may know a newer Unicode.
//   - Contractions such as 'S are recognised in upper and lower case of ASCII
//     only; OpenAI's implementation also takes 'ſ (U+017F) for one.
//
// # How it works
//
// A cursor finds the pieces a split pattern cuts a text into, by looking at the
// class of each character. A piece that is a token counts one; any other is
// merged from its bytes, by a scan when it is short, by a heap when it is
// longer, and in windows when it is very long, so that the work stays linear in
// the length of the text. Counting allocates nothing once its buffers have
// grown, except one copy of a text that is not valid UTF-8.
//
// The vocabularies come from the assets of tiktoken-go-loader. One is parsed at
// its first use, into about 3 MiB (cl100k_base) or 6 MiB (o200k_base) of tables.
//
// # Cancellation
//
// Every function that takes a context looks at it at least once in 32 KiB of
// text or 1 KiB of an unbroken piece, which is well within ten milliseconds.
package bpe
