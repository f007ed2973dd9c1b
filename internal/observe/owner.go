package observe

import (
	"cmp"
	"context"
)

// Owner is whose texts work may have: a user, a conversation and a run of the store, "" for none.
type Owner struct {
	User, Conversation, Run string
}

type ownerKey struct{}

// WithOwner returns a context of work that may have the texts of an owner. What is empty stays as it is.
func WithOwner(ctx context.Context, o Owner) context.Context {
	has := OwnerOf(ctx)
	return context.WithValue(ctx, ownerKey{}, Owner{cmp.Or(o.User, has.User), cmp.Or(o.Conversation, has.Conversation), cmp.Or(o.Run, has.Run)})
}

// OwnerOf returns the owner that [WithOwner] set.
func OwnerOf(ctx context.Context) Owner {
	o, _ := ctx.Value(ownerKey{}).(Owner)
	return o
}
