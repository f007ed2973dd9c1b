package imports

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

const (
	// costTokenByte is the fuel for each byte of text to be tokenized.
	costTokenByte = 32
	// maxTokenText bounds a text whose tokens are counted, in bytes: several windows of the
	// largest models, and about 30 ms of work that nothing interrupts.
	maxTokenText = 1 << 20
)

// countTokens counts the tokens of a block with the host's tokenizer. It refuses texts so long
// that counting them would take too long; the guest can count them in parts.
func countTokens(c *guest.Call, s []uint64) {
	p := of(c)
	if !p.Counts {
		panic(missing(c, "service count_tokens", "grants.services"))
	}
	text, _ := c.Instance.Extism.Kernel.Bytes(s[0])
	if len(text) > maxTokenText {
		panic(&guest.Fault{Reason: abi.ReasonInputTooLarge, Remedy: "count it in parts",
			Err: fmt.Errorf("anchor_count_tokens: text of %d bytes, allowed %d", len(text), maxTokenText)})
	}
	c.Spend(costTokenByte * int64(len(text)))
	ctx, cancel := c.Bounded()
	defer cancel()
	counts, err := p.Tokenizer.Count(ctx, string(text))
	if err != nil {
		c.Stop()
		panic(&guest.Fault{Reason: abi.ReasonTrap, Err: err})
	}
	if c.Record != nil {
		c.Record.Counted(string(text), counts[0])
	}
	s[0] = uint64(counts[0])
}
