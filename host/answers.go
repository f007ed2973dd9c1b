package host

import (
	"context"
	"errors"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/answer"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// allow checks changes that have passed check against the part of the grant that depends on
// the item. It then counts the tokens of new texts, within the time that the call has left.
func (o *Operation) allow(ctx context.Context, rows abi.Rows, a *Answer) error {
	c := a.Changes
	if len(c.Edits)+len(c.Items) == 0 {
		return nil
	}
	if err := o.grant.Settle(c, rows); err != nil {
		return err
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
	counts, err := o.plugin.host.tokens.Count(ctx, n.Texts...)
	o.plugin.account.Charge(guest.Clock() - began)
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

// checkReply makes the checks of [answer.CheckReply].
func (o *Operation) checkReply(changed bool, texts int, reply any) error {
	if err := answer.CheckReply(reply, changed, texts, o.parts); err != nil {
		return o.refuse(err)
	}
	return nil
}
