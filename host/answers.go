package host

import (
	"context"
	"errors"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/answer"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// price counts the tokens of the texts that an answer brings, within the time that the call has
// left. By then the instance serves other calls, because counting can take long.
func (o *Operation) price(ctx context.Context, rows abi.Rows, a *Answer) error {
	c := a.Changes
	if c == nil || len(c.Edits)+len(c.Items) == 0 {
		return nil
	}
	a.Tokens = make([]int, len(c.Edits)+len(c.Items))
	n := answer.NewTexts(c, rows)
	if len(n.Texts) == 0 {
		return nil
	}
	ctx, cancel := a.receipt.Context(ctx)
	defer cancel()
	return o.count(ctx, n, a.Tokens)
}

// count counts the tokens of new texts, and refuses too many. Its time is charged to the
// plugin's account, so that a plugin that answers with much text is served later.
func (o *Operation) count(ctx context.Context, n *answer.Texts, tokens []int) error {
	began := guest.Clock()
	counts, err := o.plugin.setup.host.tokens.Count(ctx, n.Texts...)
	o.plugin.lending.account.Charge(guest.Clock() - began)
	if err != nil {
		var late *guest.Fault
		switch {
		case errors.As(context.Cause(ctx), &late):
			return late
		case ctx.Err() != nil:
			return guest.ContextFault(ctx)
		}
		return &guest.Fault{Reason: abi.ReasonInvalidOutput, Err: err}
	}
	return o.grant.Counted(n, counts, tokens)
}
