// Package format writes filled windows as the documents that model APIs take: the Messages
// API of Anthropic, the chat completions API of OpenAI, and plain text. [Anthropic],
// [OpenAI] and [Generic] are formatters for package pipeline.
package format
