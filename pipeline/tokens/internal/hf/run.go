package hf

import (
	"github.com/anchor-host/anchor-host/pipeline/tokens/internal/bpe"
)

// model counts the tokens of a piece of text.
type model interface {
	count(r *run, piece string) int
}

// lister appends the numbers of the tokens of a piece to the ids of r. It leaves out unknown tokens.
type lister interface {
	list(r *run, piece string)
}

// run is the state of one count.
type run struct {
	*bpe.Run
	places []place
	tokens int
	ids    []uint32 // the numbers of the tokens, with listing
	ends   []int
	room   int   // bytes that normalizers may still add
	err    error // set if they add more

	listing bool
}

// pollNodes is the number of characters between two checks of the context.
const pollNodes = 4 << 10

// place is the best division of a text up to one place.
type place struct {
	reached bool
	score   float64
	tokens  int  // without those of the unknown characters from unknown on
	unknown int  // start of the unknown characters that end here, or -1
	whole   bool // one of these characters has a byte without a token
}
