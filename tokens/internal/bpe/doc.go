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
//   - Each byte outside of valid UTF-8 is read as U+FFFD and counted as the three bytes
//     of that character. [Encoding.Truncate] returns such bytes unchanged and may cut
//     between them.
//   - Letters, numbers, marks and whitespace are what the unicode package of the
//     Go release says. OpenAI's implementation may know a newer Unicode.
//   - Contractions such as 'S are recognised in ASCII upper and lower case only. OpenAI's
//     implementation also accepts 'ſ (U+017F).
//
// # How it works
//
// A cursor finds the pieces into which a split pattern cuts a text, by the class of each
// character. A piece that is a token counts as one. Any other piece is merged from its
// bytes: by a scan when it is short, with a heap when it is longer, and in windows when it
// is very long, so that the time is linear in the length of the text. Once its buffers have
// grown, counting allocates nothing, except one copy of a text that is not valid UTF-8.
//
// The vocabularies are those of tiktoken-go-loader (MIT, see LICENSE.tiktoken), packed. The first use of an
// encoding reads its vocabulary into tables of about 3 MiB (cl100k_base) or 6 MiB (o200k_base).
//
// [Merges] does the same for vocabularies that list which pairs of tokens merge, and [LookupPattern]
// has the split patterns that other tokenizers share.
//
// # Cancellation
//
// Every function that takes a context checks it at least once in 32 KiB of text or 1 KiB of
// a piece without white space, that is, at least every ten milliseconds.
package bpe
