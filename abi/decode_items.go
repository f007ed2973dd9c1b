package abi

import "github.com/anchor-host/anchor-host/abi/internal/plainjson"

// plainItems decodes a document as hosts write it. It returns nil for anything unusual, such as
// an unknown member: encoding/json then decodes the whole document.
func plainItems(b []byte) *ItemsRequest {
	req := new(ItemsRequest)
	if !plainjson.Read(b, func(r *plainjson.Reader) bool { return plainReader{r}.request(req) }) {
		return nil
	}
	return req
}

// plainReader reads the parts of a plain document.
type plainReader struct{ *plainjson.Reader }

func (r plainReader) request(req *ItemsRequest) bool {
	return r.Object(func(name string) (bit int, ok bool) {
		switch name {
		case "query":
			return 1, r.query(&req.Query)
		case "columns":
			req.Columns = []string{}
			return 2, r.List(func() bool {
				column, ok := r.Text()
				req.Columns = append(req.Columns, column)
				return ok
			})
		case "items":
			req.Items = []Item{}
			return 4, r.List(func() bool {
				req.Items = append(req.Items, Item{})
				return r.item(&req.Items[len(req.Items)-1])
			})
		case "top_k":
			req.TopK, ok = r.Integer()
			return 8, ok
		case "tokens_left":
			req.TokensLeft, ok = r.Integer()
			return 16, ok
		case "settings":
			return 32, r.Other(&req.Settings)
		}
		return 0, false
	})
}

func (r plainReader) query(q *Query) bool {
	return r.Object(func(name string) (bit int, ok bool) {
		switch name {
		case "query_str":
			q.Text, ok = r.Text()
			return 1, ok
		case "embedding":
			q.Embedding, ok = r.Numbers()
			return 2, ok
		case "metadata":
			return 4, r.Other(&q.Metadata)
		case "chat_history":
			return 8, r.Other(&q.ChatHistory)
		}
		return 0, false
	})
}

func (r plainReader) item(it *Item) bool {
	return r.Object(func(name string) (bit int, ok bool) {
		switch name {
		case "id":
			it.ID, ok = r.Text()
			return 1, ok
		case "content":
			it.Content, ok = r.Text()
			return 2, ok
		case "source":
			it.Source, ok = r.Text()
			return 4, ok
		case "score":
			it.Score, ok = r.Number()
			return 8, ok
		case "priority":
			it.Priority, ok = r.Integer()
			return 16, ok
		case "token_count":
			it.TokenCount, ok = r.Integer()
			return 32, ok
		case "metadata":
			return 64, r.Other(&it.Metadata)
		case "created_at":
			return 128, r.Other(&it.CreatedAt)
		case "embedding":
			it.Embedding, ok = r.Numbers()
			return 256, ok
		}
		return 0, false
	})
}
