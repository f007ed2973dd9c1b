// Package httpembed asks a server with the API of OpenAI for embeddings to embed texts:
// a vendor, or Ollama, llama.cpp or TEI.
//
//	e, err := httpembed.New(httpembed.Options{BaseURL: "http://localhost:11434/v1", Model: "nomic-embed-text"})
//	…
//	vectors, err := retrieve.Embed(ctx, e, retrieve.SideDocument, texts)
//
// A server is not trusted. The size of an answer is bounded before it is read, and no answer can
// make the package keep more than the vectors that were asked for. Redirects are not followed, so
// that a key goes nowhere else. Errors name the server, what it did and what to do. They never
// have a key, even if the server repeats it.
//
// The ID of the embedder is the name of the model with the prefixes, and not the address, so that
// a model can move to another server without embedding everything again. Two models of one name
// would give nonsense.
package httpembed
