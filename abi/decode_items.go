package abi

import "github.com/anchor-host/anchor-host/abi/internal/strictjson"

var (
	requestMembers = []string{"query", "columns", "items", "top_k", "tokens_left", "settings"}
	rowMembers     = []string{"id", "content", "source", "score", "priority", "token_count", "metadata", "created_at", "embedding"}
)

// plainItems decodes a document as hosts write it, many times as fast as encoding/json, above all in a
// guest. It returns nil for anything unusual, such as an unknown member: encoding/json then decodes the
// whole document.
func plainItems(b []byte) *ItemsRequest {
	req := new(ItemsRequest)
	if strictjson.Read(b, '{', errNoObject, strictjson.Unbounded(), func(r *strictjson.Reader) { answerReader{r}.request(req) }) != nil {
		return nil
	}
	return req
}

func (r answerReader) request(req *ItemsRequest) {
	r.Object(requestMembers, func(i int) {
		switch i {
		case 0:
			r.query(&req.Query)
		case 1:
			req.Columns = strictjson.List(r.Reader, func(column *string) { *column = r.Text() })
		case 2:
			req.Items = strictjson.List(r.Reader, r.row)
		case 3:
			req.TopK = r.Integer()
		case 4:
			req.TokensLeft = r.Integer()
		case 5:
			req.Settings = r.Raw()
		}
	})
}

func (r answerReader) row(it *Item) {
	r.Object(rowMembers, func(i int) {
		switch i {
		case 0:
			it.ID = r.Text()
		case 1:
			it.Content = r.Text()
		case 2:
			it.Source = r.Text()
		case 3:
			it.Score = r.Float()
		case 4:
			it.Priority = r.Integer()
		case 5:
			it.TokenCount = r.Integer()
		case 6:
			it.Metadata = r.Metadata()
		case 7:
			it.CreatedAt = r.Time()
		case 8:
			it.Embedding = r.Numbers()
		}
	})
}
