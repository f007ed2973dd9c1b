// Package request reads the JSON document that holds a whole build inline: the
// input of "anchor-host build --request" and of a server.
//
//	{"query": "how do deadlines work", "max_tokens": 4000, "tokenizer": "words",
//	 "items": [{"id": "a", "content": "…", "source": "retrieval", "score": 0.9}],
//	 "steps": [{"name": "keep", "use": "filter", "settings": {"min_score": 0.5}}],
//	 "format": "anthropic"}
//
// [ReadMessages] reads the messages of an agent: the input of "anchor-host
// assemble".
//
// Decoding is strict. An error about an unknown field names its path and the most similar valid
// field. Data after the document and documents larger than [MaxBytes] are refused.
package request
