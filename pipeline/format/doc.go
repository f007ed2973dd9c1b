// Package format writes filled windows as the documents that model APIs take: the Messages
// API of Anthropic, the chat completions and the Responses API of OpenAI, the Gemini API of
// Google, and plain text. [Anthropic], [OpenAI], [Responses], [Gemini] and [Generic] are
// formatters for package pipeline. An output that has the query is the body of a request.
package format
