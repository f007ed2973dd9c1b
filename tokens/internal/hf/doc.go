// Package hf counts tokens as the file tokenizer.json of a model says. This is the format of
// the library "tokenizers" by Hugging Face.
//
//	t, err := hf.Read(data)
//	n, err := t.Count(ctx, text)
//	head, err := t.Truncate(ctx, text, 8192)
//
// # What exact means
//
// The result is the number of tokens that the library gives for the text alone: without the
// tokens that a post-processor adds, and with encode_special_tokens set. So a text that looks
// like a special token is ordinary text. Other added tokens count as one token.
//
// The tokens of a text can also be listed, if the file is read with [ReadIDs].
//
// Letters, numbers and normal forms are those of the Unicode version of Go. The library may
// know another version. Each byte outside of valid UTF-8 is read as U+FFFD. A character with
// more than 30 combining marks may have another normal form.
//
// # What it reads
//
//   - Models: BPE, with merges as strings or pairs, byte fallback and unknown tokens; Unigram;
//     WordPiece.
//   - Normalizers: NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Prepend, Replace,
//     Precompiled, BertNormalizer, Sequence.
//   - Pre-tokenizers: BertPreTokenizer, ByteLevel, Metaspace, Split, Digits, Punctuation, Whitespace,
//     WhitespaceSplit, CharDelimiterSplit, Sequence.
//
// A file that needs anything else is refused, with the name of what it needs, because a count
// that is nearly right would not show that it is wrong.
//
// Regular expressions run in time linear in the length of the text: those of well-known models
// in package bpe, others in package regexp. An expression that package regexp cannot express is
// refused, except that it may end in \s+(?!\S)|\s+, as most do.
//
// # Bounds
//
// A file has at most 64 MiB, 2^20 tokens and 2^21 merges, and its regular expressions are
// small. The memory of a loaded file is about twice its size. The time of a count grows with
// the length of the text, also for a text without white space. Normalizers add at most 32 bytes
// for each byte of a text; the count of a text to which they would add more is an error.
package hf
