// Package corpus reads the files of a folder as documents to index.
//
// It distinguishes three kinds of files by their extension:
//
//   - .md, .markdown, .txt, .rst and all other included files: text, cut at
//     Markdown headings and between paragraphs into chunks of a bounded length;
//   - .jsonl: one record per line in the form of the BEIR collections,
//     {"_id", "title", "text"}, one document each;
//   - .go: the package comment and the doc comments of exported symbols, with
//     their declarations.
//
// Files are read one at a time through one buffer, because a guest pays for
// every call to the host and for every byte of its memory.
package corpus
