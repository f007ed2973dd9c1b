// Package llm asks models through the APIs of OpenAI (chat completions, which many servers have)
// and of Anthropic (messages). A [Model] holds its requests to a time, to the budget of a build, and
// to the schema that a caller states. It repeats requests that may succeed later, and can keep
// answers. The key is in no error, and goes to no other server.
//
//	m, err := llm.New(llm.Options{Name: "small", API: llm.OpenAI, BaseURL: "https://api.openai.com/v1", Model: "gpt-4o-mini", Key: key})
//	answer, err := m.Ask(ctx, llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "Say hello."}}})
package llm
