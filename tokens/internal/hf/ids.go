package hf

import (
	"context"
)

// ReadIDs is [Read] for a tokenizer that can also list the tokens of texts. Those of Unigram models
// cannot be listed.
func ReadIDs(data []byte) (*Tokenizer, error) { return read(data, true) }

// AppendIDs appends the numbers of the tokens of a text, as the file gives them. Unknown tokens are
// left out. The tokenizer must come from [ReadIDs]. The error is as for [Tokenizer.Count].
func (t *Tokenizer) AppendIDs(ctx context.Context, ids []uint32, text string) ([]uint32, error) {
	r := t.pool.Get().(*run)
	defer t.pool.Put(r)
	r.ids, r.listing = ids, true
	err := t.run(ctx, r, text)
	ids, r.ids, r.listing = r.ids, nil, false
	return ids, err
}

// MaxID returns the greatest number that [Tokenizer.AppendIDs] may append.
func (t *Tokenizer) MaxID() uint32 {
	most := t.maxID
	for _, added := range []*addedTokens{t.raw, t.normal} {
		for i := range added.tokens {
			if !added.tokens[i].Special {
				most = max(most, added.tokens[i].ID)
			}
		}
	}
	return most
}
