package anchor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/agents/learned"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

// ForgottenUser says what was deleted of a user.
type ForgottenUser struct {
	// User is the name of the user.
	User string `json:"user"`
	// Facts, Conversations, Turns, Runs and Builds are how many were deleted. Runs are agent runs,
	// whole, and Builds are records of builds. Notes that coding agents made count as facts.
	Facts         int `json:"facts"`
	Conversations int `json:"conversations"`
	Turns         int `json:"turns"`
	Runs          int `json:"runs"`
	Builds        int `json:"builds"`
	// Failures are failed calls of plugins for the user, and in the conversations.
	Failures int `json:"failures"`
}

// ForgetUser deletes what the store has of a user of a tenant: the facts, the conversations and the
// agent runs that belong to the user, the facts of these conversations, the links of the graph to these
// facts, and the records of the builds and the failures of plugins for the user and in these conversations. Builds that run at the same time may store new ones.
// The values that plugins keep and relations between entities belong to the tenant and stay. If something
// cannot be deleted, the rest is, and the result says what was. An empty tenant means that of the
// configuration.
func (a *App) ForgetUser(ctx context.Context, tenant, user string) (done ForgottenUser, err error) {
	done.User = user
	if user == "" {
		return done, fmt.Errorf("%w: no user to forget (name one)", ErrInvalid)
	}
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return done, err
	}
	tenant = c.TenantName()
	talks, failed := agentstore.Owned(ctx, s, tenant, agentstore.AConversation, user)
	// First goes what is found by the names of conversations: who tries again after an error has no names any more.
	done.Failures, err = failures.Forget(ctx, s, append(conversationOwners(tenant, talks), failures.Owner{Tenant: tenant, User: user})...)
	failed = cmp.Or(failed, err)
	done.Builds, err = a.forgetBuilds(ctx, s, tenant, func(b *builds.Summary) bool {
		return b.User == user || b.User == "" && slices.Contains(talks, b.Conversation)
	})
	failed = cmp.Or(failed, err)
	// Conversations go before facts, so that no promotion takes facts from them meanwhile.
	for _, id := range talks {
		n, facts, err := a.forgetConversation(ctx, tenant, id)
		done.Turns, done.Facts, failed = done.Turns+n, done.Facts+facts, cmp.Or(failed, err)
		if err == nil {
			done.Conversations++
		}
	}
	runs, err := agentstore.Owned(ctx, s, tenant, agentstore.ARun, user)
	failed = cmp.Or(failed, err)
	for _, id := range runs {
		run, err := a.Run(ctx, tenant, id)
		failed = forget(ctx, run.Forget, &done.Runs, failed, err)
	}
	n, err := a.ForgetFacts(ctx, tenant, memory.Filter{UserID: user})
	done.Facts, failed = done.Facts+n, cmp.Or(failed, err)
	n, err = learned.ForgetUser(ctx, s, tenant, user)
	done.Facts, failed = done.Facts+n, cmp.Or(failed, err)
	if failed != nil {
		return done, fmt.Errorf("forget user %.100q: %w", user, store.Partly(done != ForgottenUser{User: user}, failed))
	}
	return done, nil
}

// forgetConversation deletes a conversation with the facts that belong to it alone. It returns how
// many turns and facts there were.
func (a *App) forgetConversation(ctx context.Context, tenant, id string) (turns, facts int, err error) {
	talk, err := a.Conversation(ctx, tenant, id)
	if err != nil {
		return 0, 0, err
	}
	if turns, err = talk.forget(ctx); err != nil {
		return turns, 0, err
	}
	facts, err = a.ForgetFacts(ctx, tenant, memory.Filter{SessionID: id, Users: []string{""}})
	return turns, facts, store.Partly(true, err)
}

// takenTogether is how many facts go to the user who claims a conversation with the claim. Further ones go before.
const takenTogether = 500

// takeFacts makes a user the owner of a conversation by a change, and with it of the facts that were extracted from
// it while it belonged to nobody. They belong to the session with its name. If nothing was extracted,
// such facts have nothing to do with the conversation, and stay as they are.
func takeFacts(ctx context.Context, facts *memory.StoreFacts, s store.Store, owner store.Change, user string) error {
	id := owner.Key.Stream
	n, err := conversation.NewLog(s, owner.Key.Tenant, id).Promoted(ctx)
	if err != nil {
		return err
	}
	if n == 0 {
		return s.Apply(ctx, owner)
	}
	for more := true; more && err == nil; {
		err = facts.Change(ctx, nil, func(existing []*memory.Entry) (c memory.FactChange, _ error) {
			more = false
			now := time.Now().UTC()
			for _, e := range existing {
				if e.SessionID != id || e.UserID != "" || e.Expired(now) {
					continue
				}
				if more = len(c.Put) == takenTogether; more {
					return c, nil
				}
				own := e.Clone()
				own.UserID, own.UpdatedAt = user, now
				c.Put = append(c.Put, &own)
			}
			c.With = []store.Change{owner}
			return c, nil
		})
	}
	if err != nil {
		return fmt.Errorf("conversation %q: claim its facts: %w", id, err)
	}
	return nil
}
