package hf

import (
	"github.com/anchor-host/anchor-host/tokens/internal/bpe"
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
	recent  *[recentPieces]recentPiece // made when first needed
}

// recentPieces is how many pieces a run remembers; longer ones, or those of more tokens, it does not.
const (
	recentPieces = 4 << 10
	recentBytes  = 24
	recentIDs    = 6
)

// recentPiece is a piece with the numbers of its tokens.
type recentPiece struct {
	text   [recentBytes]byte
	length uint8 // 0: none
	n      uint8
	ids    [recentIDs]uint32
}

// recall appends the numbers of the tokens of a short piece to the ids of r if r remembers it.
// Otherwise it returns where to remember it, unless the piece is too long.
func (r *run) recall(piece string) (p *recentPiece, known bool) {
	if len(piece) > recentBytes || piece == "" {
		return nil, false
	}
	if r.recent == nil {
		r.recent = new([recentPieces]recentPiece)
	}
	hash := uint32(2166136261)
	for i := range len(piece) {
		hash = (hash ^ uint32(piece[i])) * 16777619
	}
	p = &r.recent[(hash^hash>>15)%recentPieces]
	if int(p.length) == len(piece) && string(p.text[:p.length]) == piece {
		r.ids = append(r.ids, p.ids[:p.n]...)
		return p, true
	}
	return p, false
}

// remember enters a piece with the numbers of its tokens.
func (p *recentPiece) remember(piece string, ids []uint32) {
	if p == nil || len(ids) > recentIDs {
		return
	}
	p.length, p.n = uint8(copy(p.text[:], piece)), uint8(copy(p.ids[:], ids))
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
