package agentdemo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// formTokens is the budget of a request body.
const formTokens = "1500"

// forms sends the whole conversation as a request body of each API through assemble, and prints
// what is left of its messages.
func (d *demo) forms(ctx context.Context, w io.Writer) error {
	var all []pipeline.Message
	for n := 1; n <= Turns; n++ {
		all = append(all, turn(n)...)
	}
	body, err := message.AppendList([]byte(`{"model":"gpt-4o","messages":`), all, message.FormOpenAI)
	if err != nil {
		return err
	}
	chat, err := message.DecodeBody(append(body, '}'), message.FormOpenAI)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe whole conversation as one request body, in %s tokens:\n", formTokens)
	for _, form := range message.Forms {
		whole, _, err := chat.Lossy(form) // Gemini has the model in the address
		if err != nil {
			return err
		}
		doc, err := whole.Append(nil, whole.Messages)
		if err != nil {
			return err
		}
		short, out, err := d.assembleBody(ctx, string(doc), "--from", string(form), "--max-tokens", formTokens)
		if err != nil {
			return err
		}
		if why := message.Check(short.Messages, form); why != nil || len(short.Messages) >= len(whole.Messages) || len(out) > len(doc)/2 {
			d.want(false, 0, "%s: %d of %d messages, %v", form, len(short.Messages), len(whole.Messages), why)
		}
		fmt.Fprintf(w, "%-16s  %d of %d messages, as the rules of the API demand\n", form, len(short.Messages), len(whole.Messages))
	}
	return nil
}

// assembleBody runs assemble on a request body, and reads what comes out.
func (d *demo) assembleBody(ctx context.Context, body string, flags ...string) (*message.Body, string, error) {
	args := append([]string{"assemble", "--config", d.Config}, d.Flags[:slices.Index(d.Flags, "--store")]...)
	code, stdout, stderr := d.Command(ctx, body, append(args, flags...)...)
	if code != 0 {
		return nil, "", fmt.Errorf("%s: code %d: %s", strings.Join(args, " "), code, stderr)
	}
	b, err := message.DecodeBody([]byte(stdout), message.FormAny)
	return b, stdout, err
}
