package pdk

import "github.com/anchor-host/anchor-host/abi"

// Request is the request of the host: the query, the rows and the number of items to return.
//
// A Request, its rows and their strings are views of memory that the host reuses. They are
// valid until the handler returns. Clone a string that must live longer ([strings.Clone]).
type Request struct {
	// Items are the rows of the step, none for retrieve. They have only the columns that
	// the manifest lists under reads.
	Items Items
	// TopK is the largest number of items to return, for retrieve and rerank; 0 if the
	// step sets no bound.
	TopK int
	// TokensLeft is how many tokens still fit into the window when the step begins.
	TokensLeft int

	query *Query
	err   error
}

// NewRequest returns the request in b. Handlers receive a request as an argument; a test of
// plugin logic makes one from [abi.BatchOf].
func NewRequest(b *abi.Batch) *Request {
	r := new(Request)
	r.Reset(b)
	return r
}

// Reset makes r the request in b.
func (r *Request) Reset(b *abi.Batch) {
	*r = Request{Items: Items{b}, TopK: b.TopK(), TokensLeft: b.TokensLeft()}
}

// Query returns the query. The first call decodes it. It is never nil: if the query cannot be
// decoded, it is empty, and [Request.Err] fails the call.
func (r *Request) Query() *Query {
	if r.query == nil {
		r.query, r.err = r.Items.Query()
		if r.query == nil {
			r.query = new(Query)
		}
	}
	return r.query
}

// Err returns the error of decoding the query. The SDK checks it after each call, so handlers
// need not.
func (r *Request) Err() error { return r.err }
