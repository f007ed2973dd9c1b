package agentstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

// KindOwner is the kind of the records that say which user a conversation or a run belongs to. The
// stream is its name, and the ID of the record says what it is.
const KindOwner = "owner"

// Ownable is what can belong to a user.
type Ownable string

// What can belong to a user.
const (
	AConversation Ownable = "conversation"
	ARun          Ownable = "run"
)

// ErrOwned marks a conversation or a run that belongs to another user.
var ErrOwned = errors.New("it belongs to another user")

// owner is the record of an owner.
type owner struct {
	User string `json:"user_id"`
}

func ownerKey(tenant, id string) store.Key {
	return store.Key{Tenant: tenant, Kind: KindOwner, Stream: id}
}

// Owner returns the user that a conversation or a run of a tenant belongs to, "" for nobody.
func Owner(ctx context.Context, s store.Store, tenant string, what Ownable, id string) (user string, err error) {
	rec, err := s.Get(ctx, ownerKey(tenant, id), string(what))
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	var o owner
	if err == nil {
		err = json.Unmarshal(rec.Data, &o)
	}
	if err != nil {
		return "", fmt.Errorf("%s %q: read its owner: %w", what, id, err)
	}
	return o.User, nil
}

// Allow returns the user that a conversation or a run of a tenant belongs to, as [Owner] does. The error
// wraps [ErrOwned] if that is another user than the given one.
func Allow(ctx context.Context, s store.Store, tenant string, what Ownable, id, user string) (has string, err error) {
	if has, err = Owner(ctx, s, tenant, what, id); err == nil && has != "" && has != user {
		err = fmt.Errorf("%s %q: %w (name the user that it belongs to, or use another %s)", what, id, ErrOwned, what)
	}
	return has, err
}

// Claim lets a user have a conversation or a run of a tenant: what belongs to nobody belongs to the
// user from then on. An empty user is nobody. The error wraps [ErrOwned] if it belongs to another
// user. A store that cannot be written has no new turns either, so there the claim is left out. claimed
// reports whether it belonged to nobody before.
func Claim(ctx context.Context, s store.Store, tenant string, what Ownable, id, user string) (claimed bool, err error) {
	return ClaimWith(ctx, s, tenant, what, id, user, func(c store.Change) error { return s.Apply(ctx, c) })
}

// ClaimWith is [Claim] where write makes the change, together with others. The error of write wraps
// [store.ErrConflict] if a condition does not hold; write is then called again.
func ClaimWith(ctx context.Context, s store.Store, tenant string, what Ownable, id, user string, write func(store.Change) error) (claimed bool, err error) {
	for {
		has, err := Allow(ctx, s, tenant, what, id, user)
		if err != nil || has == user {
			return false, err
		}
		c, err := claim(ctx, s, tenant, what, id, user)
		if err != nil {
			return false, fmt.Errorf("%s %q: claim it: %w", what, id, err)
		}
		if c.Put != nil {
			err = write(c)
		}
		switch {
		case c.Put == nil, errors.Is(err, store.ErrConflict): // another request claimed it meanwhile
			continue
		case errors.Is(err, store.ErrFull), errors.Is(err, store.ErrReadOnly):
			return false, nil
		case err != nil:
			return false, err
		}
		if f, ok := ctx.Value(claimsKey{}).(func(Ownable, string)); ok {
			f(what, id)
		}
		return true, nil
	}
}

// claim is the change that makes a user the owner of what has none. It puts nothing if that has an owner.
func claim(ctx context.Context, s store.Store, tenant string, what Ownable, id, user string) (c store.Change, err error) {
	c = store.Change{Key: ownerKey(tenant, id), IfNewest: new(int64)}
	recs, err := s.Read(ctx, c.Key, 0, 0)
	if err != nil {
		return c, err
	}
	for i := range recs {
		var has owner
		if *c.IfNewest = recs[i].Seq; recs[i].ID == string(what) && json.Unmarshal(recs[i].Data, &has) == nil && has.User != "" {
			return c, nil
		}
	}
	data, err := json.Marshal(owner{user})
	c.Put = []store.Record{{ID: string(what), Data: data}}
	return c, err
}

type claimsKey struct{}

// OnClaim returns a context under which f is called for each conversation and each run that a user gets.
func OnClaim(ctx context.Context, f func(what Ownable, id string)) context.Context {
	return context.WithValue(ctx, claimsKey{}, f)
}

// Disown deletes the record of an owner, of a conversation or a run that was deleted.
func Disown(ctx context.Context, s store.Store, tenant string, what Ownable, id string) error {
	_, err := s.Delete(ctx, ownerKey(tenant, id), string(what))
	return err
}

// DisownUnused deletes the owners of conversations or runs of a tenant that were noted before a time, and
// of which nothing is stored: used reports whether something is.
func DisownUnused(ctx context.Context, s store.Store, tenant string, what Ownable, before time.Time, used func(id string) bool) error {
	keys, err := s.Keys(ctx, tenant, KindOwner)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if used(key.Stream) {
			continue
		}
		rec, err := s.Get(ctx, key, string(what))
		if errors.Is(err, store.ErrNotFound) || err == nil && !rec.Time.Before(before) {
			continue
		}
		if err == nil {
			err = Disown(ctx, s, tenant, what, key.Stream)
		}
		if err != nil {
			return fmt.Errorf("%s %q: delete its owner: %w", what, key.Stream, err)
		}
	}
	return nil
}

// Owned returns the names of the conversations or runs of a tenant that belong to a user.
func Owned(ctx context.Context, s store.Store, tenant string, what Ownable, user string) (ids []string, err error) {
	keys, err := s.Keys(ctx, tenant, KindOwner)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		has, err := Owner(ctx, s, tenant, what, key.Stream)
		if err != nil {
			return nil, err
		}
		if has == user {
			ids = append(ids, key.Stream)
		}
	}
	return ids, nil
}

func checkOwner(_ store.Key, rec *store.Record) error {
	var o owner
	if err := decodeStrict(rec.Data, &o); err != nil {
		return err
	}
	if what := Ownable(rec.ID); what != AConversation && what != ARun {
		return fmt.Errorf("id %.100q: %w (want %s or %s)", rec.ID, pipeline.ErrInvalid, AConversation, ARun)
	}
	if o.User == "" {
		return fmt.Errorf("user_id: %w (want the name of a user)", pipeline.ErrInvalid)
	}
	return nil
}
