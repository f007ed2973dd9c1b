package anchor

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/wholebody"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// BodyOptions are the options of [App.AssembleBody].
type BodyOptions struct {
	AssembleOptions
	// From is the form of the document. FormAny: it is found out.
	From message.Form
	// To is the form of the result. FormAny: that of the document.
	To message.Form
	// Lossy leaves out what the form of the result has no place for. Without it, this is an
	// error.
	Lossy bool
}

// ofBody is what the document of messages says besides them. The zero value says nothing.
type ofBody struct {
	// form is that of the messages. FormAny: they tell it themselves.
	form message.Form
	// unchecked is set if the API has earlier messages of the conversation.
	unchecked bool
	// inPlace names the place in the document in an error about the messages. It may be nil.
	inPlace func(error) error
	// tools are sent together with the messages, and count against the budget.
	tools []message.Tool
	// written writes the messages of the result, and returns them as they are written. nil means
	// that they are as before, or that they cannot be written.
	written func([]pipeline.Message) []pipeline.Message
	// model is the model that the messages are for, if the configuration does not say how to count.
	model string
	// join enters all messages of a conversation into the state of a run. nil: they are new ones.
	join func(context.Context, *agent.State) error
}

// AssembledBody is the result of [App.AssembleBody].
type AssembledBody struct {
	*Assembled
	// Body is the document for the model's API. In the form in which it came, everything but
	// the messages that changed is the same byte for byte.
	Body []byte
	// Form is the form of Body.
	Form message.Form
	// Lost has a line for each thing that the form has no place for. It is empty unless Lossy
	// is set.
	Lost []string
}

// AssembleBody runs the provider chain over the messages of a JSON document: a list of messages,
// or the whole body of a request to the API of Anthropic, OpenAI (Chat Completions or Responses)
// or Gemini. Instructions in a member of their own, such as system, are messages of the system.
// The tools of a body count against the budget. Its model says how tokens are counted, unless the
// configuration has a model or a tokenizer. With Run a list has the messages since the last
// assembly, and a body all messages of the run: as the caller keeps them, or Body of the last
// assembly and what followed.
//
// The error is ErrInvalid for a document that cannot be read, and for one that cannot be written
// in the form To without a loss; it names the member. If the state of a run cannot be saved,
// AssembleBody returns both the result and the error.
func (a *App) AssembleBody(ctx context.Context, data []byte, o BodyOptions) (*AssembledBody, error) {
	for _, form := range []message.Form{o.From, o.To} {
		if form != message.FormAny && !slices.Contains(message.Forms, form) {
			return nil, fmt.Errorf("%w: form %.40q (want one of %v)", ErrInvalid, form, message.Forms)
		}
	}
	list := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("["))
	body, err := message.DecodeBodyContext(ctx, data, o.From)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, errkind.As(ErrInvalid, err)
	}
	o.tools, o.model, o.unchecked = body.Tools, body.Model(), body.Continues()
	whole := wholebody.New(data, body)
	if o.form = o.From; !list {
		o.form, o.inPlace = body.Form, whole.InPlace
	}
	if o.Run != "" && !list {
		o.join = whole.Join
	}
	out := &AssembledBody{}
	var failed error
	o.written = func(messages []pipeline.Message) []pipeline.Message {
		if failed = out.write(ctx, messages, whole.Body, &o); failed != nil {
			return nil
		}
		messages, failed = whole.Written(ctx, out.Body, out.Form)
		return messages
	}
	if out.Assembled, err = a.Assemble(ctx, body.Messages, o.AssembleOptions); out.Assembled == nil {
		return nil, err
	}
	switch {
	case failed != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case failed != nil:
		return nil, errkind.As(ErrInvalid, failed)
	}
	return out, err
}

// write writes the document with these messages. Each step of it reads or writes the whole document,
// so it asks between them whether the context has ended.
func (out *AssembledBody) write(ctx context.Context, messages []pipeline.Message, body *message.Body, o *BodyOptions) (err error) {
	news := o.Run != "" && o.join == nil
	if out.Form = body.Form; news && o.From == message.FormAny {
		out.Form = message.FormOf(messages) // the messages of the state say more than the new ones
	}
	messages = withoutNames(messages, out.Form, cmp.Or(o.To, out.Form))
	if news {
		out.Body, out.Lost, err = WriteMessages(messages, o.To, o.Lossy)
		out.Form = cmp.Or(o.To, out.Form)
		return err
	}
	if out.Body, err = body.Append(nil, messages); err != nil || o.To == message.FormAny || o.To == out.Form {
		return err
	}
	if body, err = message.DecodeBodyContext(ctx, out.Body, out.Form); err != nil {
		return err
	}
	if err = ctx.Err(); err != nil {
		return err
	}
	if o.Lossy {
		body, out.Lost, err = body.Lossy(o.To)
	} else {
		body, err = body.Convert(o.To)
	}
	if err != nil {
		return err
	}
	if err = ctx.Err(); err != nil {
		return err
	}
	out.Form = o.To
	out.Body, err = body.Append(nil, body.Messages)
	return err
}

// WriteMessages writes a list of messages as JSON in a form. FormAny means that of the messages,
// which are then written as they were read, byte for byte, unless they changed. With lossy, lost
// has a line for each thing that the form has no place for; without it, this is an error.
func WriteMessages(messages []pipeline.Message, to message.Form, lossy bool) (data []byte, lost []string, err error) {
	form := message.FormOf(messages)
	messages = withoutNames(messages, form, cmp.Or(to, form))
	switch {
	case to == message.FormAny || to == form:
	case lossy:
		messages, lost, err = message.Lossy(messages, to)
	default:
		messages, err = message.Convert(messages, to)
	}
	if err != nil {
		return nil, nil, err
	}
	data, err = message.AppendList(nil, messages, to)
	return data, lost, err
}

// withoutNames returns the messages without the names that providers have given to messages. Only
// OpenAI's chat has names, so in another form all are from providers.
func withoutNames(messages []pipeline.Message, from, to message.Form) []pipeline.Message {
	if to == message.FormOpenAI {
		return messages
	}
	messages = slices.Clone(messages)
	for i := range messages {
		if from != message.FormOpenAI || messages[i].Raw() == "" {
			messages[i].Name = ""
		}
	}
	return messages
}
