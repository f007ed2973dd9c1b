package anchor

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// A build that is repeated leaves no trace in the store, such as an owner of what was deleted meanwhile.
func TestRepeatedBuildClaimsNothing(t *testing.T) {
	ctx, app := t.Context(), load(t, usersConfig)
	o := BuildOptions{User: "ann", Conversation: "c", ID: "b"}
	if _, err := app.BuildRequest(ctx, "request", strings.NewReader(`{"query": "q"}`), o); err != nil {
		t.Fatal(err)
	}
	if err := app.FlushRecords(ctx); err != nil {
		t.Fatal(err)
	}
	talk, err := app.Conversation(ctx, "", "c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := talk.Forget(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := app.BuildRecord(ctx, "", "b")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := app.RepeatBuild(ctx, "", r, BuildOptions{}); err != nil || again.Err != nil {
		t.Fatal(err, again)
	}
	_, s, err := app.storeOf(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := agentstore.Owned(ctx, s, store.DefaultTenant, agentstore.AConversation, "ann"); err != nil || len(ids) != 0 {
		t.Errorf("conversations %q, %v", ids, err)
	}
	// A conversation that another user has begun meanwhile is not given to the repetition.
	if _, err := app.Build(ctx, pipeline.Query{Text: "of bob"}, BuildOptions{User: "bob", Conversation: "c", Remember: true}); err != nil {
		t.Fatal(err)
	}
	if again, err := app.RepeatBuild(ctx, "", r, BuildOptions{}); err == nil && again.Err == nil {
		t.Errorf("the repetition has a conversation of bob: %+v", again.Result.Window)
	}
}
