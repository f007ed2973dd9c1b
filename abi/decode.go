package abi

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/abi/internal/plainjson"
	"github.com/anchor-host/anchor-host/abi/internal/strictjson"
)

// DecodeItemsRequest reads the document [ItemsRequest]. Unknown members are
// skipped, since newer hosts may send them; settings are kept as text.
func DecodeItemsRequest(b []byte) (*ItemsRequest, error) {
	req := plainItems(b)
	if req == nil {
		req = new(ItemsRequest)
		if err := json.Unmarshal(b, req); err != nil {
			return nil, fmt.Errorf("items request: decode: %w", err)
		}
	}
	for i := range req.Items {
		req.Items[i].CreatedAt = req.Items[i].CreatedAt.UTC()
	}
	return req, nil
}

// DecodeRequest decodes the input document of an operation into what request points to. Errors are those
// of encoding/json, which takes many times as long for documents as hosts write them.
func DecodeRequest(b []byte, request any) error { return plainjson.Unmarshal(b, request) }

// DecodeReply decodes the answer of a guest into one of the documents. It refuses bytes that are
// not UTF-8, bytes after the document, and members that are unknown, repeated or of another type.
// Errors wrap [ErrMalformed], or [ErrTooLarge] if the answer would take many times its bytes.
// Nothing in the document aliases b.
func DecodeReply(b []byte, reply any) error { return DecodeReplyWithin(b, reply, WidestBounds()) }

// DecodeReplyWithin does what [DecodeReply] does, within narrower bounds. Errors may also
// wrap [ErrNotGranted], or be those of the Meter.
func DecodeReplyWithin(b []byte, reply any, within Bounds) error {
	if t, ok := reply.(*Changes); ok {
		return t.DecodeJSONWithin(b, within)
	}
	return strictjson.Read(b, '{', errNoObject, within.meter(len(b), 0), func(r *strictjson.Reader) { answerReader{r}.reply(reply, &within) })
}

const errNoObject strictjson.Error = "is not a JSON object"
