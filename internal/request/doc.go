// Package request reads the JSON document that holds a whole build inline: the
// input of "anchor-host build --request" and of a server.
//
//	{"query": "how do deadlines work", "max_tokens": 4000, "tokenizer": "words",
//	 "items": [{"id": "a", "content": "…", "source": "retrieval", "score": 0.9}],
//	 "steps": [{"name": "keep", "builtin": "filter", "settings": {"min_score": 0.5}}],
//	 "format": "anthropic"}
//
// [ReadMessages] reads the messages of an agent: the input of "anchor-host
// assemble".
//
// Decoding is strict: an unknown field is named with its path and the nearest
// valid one, what follows the document is refused, and so is a document larger
// than [MaxBytes].
package request
