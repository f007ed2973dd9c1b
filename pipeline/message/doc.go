// Package message has one type of message for the APIs of all models. It reads and writes the
// messages of Anthropic's Messages API, OpenAI's Chat Completions and Responses APIs, and
// Gemini's contents, in lists ([DecodeList]) and in the bodies of requests ([DecodeBody]).
//
// A [Message] is a role and a list of parts: texts, images, calls of tools and so on. It also
// keeps the JSON from which it was read. What did not change is written as it came, byte for
// byte, with all members that this package does not know. A change replaces only its own bytes:
// a text that changed, a part or a message that is new or left out. New messages are written as
// the API demands.
//
// [Convert] makes messages of one form those of another, and refuses to lose anything; [Lossy]
// names what it leaves out. [Check] finds what an API refuses.
//
// Each limit is an error that names the message: 100,000 messages in a list, 100,000 JSON values
// in a message besides those in members that are kept as JSON, 500,000 parts in a document, and
// JSON that is nested 10,000 deep.
//
// Files, in the order in which one uses the next: message.go has the types, errors.go the errors.
// text.go, tree.go and source.go read JSON; codec.go, chat.go, responses.go, gemini.go and
// decode.go make messages of it. writer.go, loss.go and render.go write new parts, part.go and
// edit.go change those that were read, fresh.go and encode.go write lists. tool.go, body.go and
// bodyedit.go read and write documents, convert.go and bodyconvert.go convert, check.go checks. visible.go says what
// of JSON counts as text.
package message
