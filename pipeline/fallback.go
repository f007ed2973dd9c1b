package pipeline

import (
	"context"
	"errors"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// skipFormatter records the failure of the formatter. If the formatter may be skipped, the
// build uses its fallback from then on. Otherwise skipFormatter returns the error.
func (b *build) skipFormatter(ctx context.Context, err error) error {
	if b.writer.filler == b.p.fallback.filler { // the fallback has failed as well
		return err
	}
	if err = b.settlePart(ctx, FormatterPart, b.p.parts.formatter.onError, err); err == nil {
		b.writer = b.p.fallback
	}
	return err
}

// recount counts all items, the query and the tools with the second tokenizer after the first
// one has failed, including the items that bring a count. It reports whether it counted. It counts only
// once per build.
func (b *build) recount(ctx context.Context) (bool, error) {
	t, ok := b.p.tokenizer.(*FallbackTokenizer)
	if !ok || b.recounted || t.Failure() == nil {
		return false, nil
	}
	b.recounted = true
	if err := b.settlePart(ctx, TokenizerPart, Skip, t.Failure()); err != nil {
		return false, err
	}
	if b.p.tools != nil {
		counts, err := core.CountTexts(ctx, t.second, []string{string(b.p.tools)})
		if err != nil {
			return false, err
		}
		b.fixed.ToolTokens = fill.CountTools(b.p.model, string(b.p.tools), counts[0]).High
	}
	if err := b.countQuery(ctx, t.second); err != nil {
		return false, err
	}
	return true, b.countTexts(ctx, t.second, func(it *Item) bool { return it.Content != "" })
}

// tryFill fills the window once. again means that the build must fill the window again,
// because it now uses another formatter or tokenizer.
func (b *build) tryFill(ctx context.Context) (again bool, err error) {
	w := b.filling
	*w = fill.Filling{Items: b.list.items, Counts: b.counts, Fixed: b.fixed, Began: b.began, Window: &b.docs.window}
	*w.Window = Window{}
	if b.mayFillAnew() {
		w.Counts = slices.Clone(b.counts) // filling changes the counts of texts that it cuts
	}
	b.recordFill()
	err = b.writer.filler.Fill(ctx, w, b.scratch.indicesFor(len(b.list.items)))
	b.diag.Fill, b.diag.BudgetOverflowBySource = w.Diagnostic, w.OverBudget
	recounted, countErr := b.recount(ctx)
	switch {
	case countErr != nil:
		return false, countErr
	case recounted: // the result before came from counts of two tokenizers
		return true, nil
	case err != nil && ofFormatter(err):
		err = b.skipFormatter(ctx, err)
		return err == nil, err
	}
	return false, err
}

// ofFormatter reports whether filling failed because the formatter failed.
func ofFormatter(err error) bool {
	var failed *core.FormatError
	return errors.As(err, &failed)
}

// mayFillAnew reports whether the build has a fallback for the formatter or the tokenizer.
func (b *build) mayFillAnew() bool {
	_, fallback := b.p.tokenizer.(*FallbackTokenizer)
	return fallback || b.p.fallback.filler != nil
}
