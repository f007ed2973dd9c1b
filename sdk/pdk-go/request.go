package pdk

import "github.com/anchor-host/anchor-host/abi"

// Request is what the host asks: the query, the rows and how much is wanted.
//
// A Request, its rows and their strings are views of memory that the host
// reuses: they are valid until the handler returns. Clone what must outlive it
// ([strings.Clone]).
type Request struct {
	// Items are the rows the step sees; empty for retrieve. Only the columns
	// named under reads in the manifest are filled.
	Items Items
	// TopK is the most items to return, for retrieve and rerank; 0 when the
	// step sets no bound.
	TopK int
	// TokensLeft is the room in the window when the step begins, in tokens.
	TokensLeft int

	query *Query
	err   error
}

// NewRequest returns the request that b holds. Handlers receive theirs; a test
// of plugin logic makes one of [abi.BatchOf].
func NewRequest(b *abi.Batch) *Request {
	r := new(Request)
	r.Reset(b)
	return r
}

// Reset makes r the request that b holds.
func (r *Request) Reset(b *abi.Batch) {
	*r = Request{Items: Items{b}, TopK: b.TopK(), TokensLeft: b.TokensLeft()}
}

// Query returns the query, decoded at the first call. It is never nil: a query
// that cannot be decoded is empty, and fails the call through [Request.Err].
func (r *Request) Query() *Query {
	if r.query == nil {
		r.query, r.err = r.Items.Query()
		if r.query == nil {
			r.query = new(Query)
		}
	}
	return r.query
}

// Err returns the error met while decoding the query. The SDK asks after each
// call, so handlers need not.
func (r *Request) Err() error { return r.err }
