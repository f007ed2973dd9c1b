package agentstore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/agents/note"
	"github.com/anchor-host/anchor-host/internal/costs"
	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/internal/kvstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/providers"
	"github.com/anchor-host/anchor-host/store"
)

// checks hold a function for each kind of record. It returns an error if the record could not be
// read again.
var checks = map[string]func(key store.Key, rec *store.Record) error{
	memory.KindFact: checkFact, conversation.KindTurn: checkTurn, conversation.KindDigest: checkDigest, conversation.KindPromoted: checkPromoted, memory.KindRelation: checkRelation,
	KindFrame: checkFrame, KindRun: checkRun, KindState: checkState,
	builds.KindSummary: checkBuild(builds.CheckSummary), builds.KindDetail: checkBuild(builds.CheckDetail),
	costs.Kind: func(_ store.Key, rec *store.Record) error { return costs.Check(rec) },
	KindIntent: checkIntent, KindPlan: checkPlan, KindSnapshot: checkSnapshot, KindCut: checkCut, KindOwner: checkOwner, kvstore.Kind: kvstore.Check,
	note.KindNote: note.Check, note.KindOrders: note.CheckOrders,
}

// Kinds returns all kinds of records, sorted.
func Kinds() []string {
	return slices.Sorted(maps.Keys(checks))
}

// Check is a [store.Check]. It refuses a record that cannot be read as its kind. The errors wrap
// [store.ErrInvalid].
func Check(key store.Key, rec *store.Record) error {
	if key.Tenant == store.ClusterTenant { // a copy is no host of the cluster
		return store.ErrSkip
	}
	check := checks[key.Kind]
	if check == nil {
		return fmt.Errorf("%w: kind %.100q (want one of %s)", store.ErrInvalid, key.Kind, strings.Join(Kinds(), ", "))
	}
	if stream := !slices.Contains(withoutStream, key.Kind); stream != (key.Stream != "") {
		return fmt.Errorf("%w: %s with stream %.100q (facts, relations, builds and costs have none, all others need one)", store.ErrInvalid, key.Kind, key.Stream)
	}
	if rec == nil {
		return nil
	}
	if err := check(key, rec); err != nil {
		return fmt.Errorf("%w: %s: %w", store.ErrInvalid, key.Kind, err)
	}
	return nil
}

// withoutStream are the kinds that have one list for each tenant.
var withoutStream = []string{memory.KindFact, memory.KindRelation, builds.KindSummary, builds.KindDetail, costs.Kind}

// checkBuild checks a part of a record of a build.
func checkBuild(check func([]byte) error) func(store.Key, *store.Record) error {
	return func(_ store.Key, rec *store.Record) error { return check(rec.Data) }
}

func checkFact(_ store.Key, rec *store.Record) error {
	var e memory.Entry
	return json.Unmarshal(rec.Data, &e)
}

func checkTurn(_ store.Key, rec *store.Record) error {
	var t pipeline.Turn
	if err := decodeStrict(rec.Data, &t); err != nil {
		return err
	}
	switch {
	case rec.ID != "" && !store.IsAutoID(rec.ID):
		return fmt.Errorf("id %.100q: %w (want # and its number)", rec.ID, pipeline.ErrInvalid)
	case !t.ValidRole():
		return fmt.Errorf("role %.100q: %w (want one of user, assistant, system, tool)", t.Role, pipeline.ErrInvalid)
	case t.TokenCount < 0 || t.TokenCount > store.MaxData:
		return fmt.Errorf("token_count %d: %w (0 to %d)", t.TokenCount, pipeline.ErrInvalid, store.MaxData)
	}
	return nil
}

func checkDigest(_ store.Key, rec *store.Record) error {
	var d conversation.Digest
	if err := decodeStrict(rec.Data, &d); err != nil {
		return err
	}
	switch {
	case rec.ID != conversation.KindDigest:
		return fmt.Errorf("id %.100q: %w (want %.100q)", rec.ID, pipeline.ErrInvalid, conversation.KindDigest)
	case d.Through < 0 || d.Through > store.MaxImportSeq || d.Count < 0:
		return fmt.Errorf("through %d, count %d: %w (through 0 to %d, count 0 or more)", d.Through, d.Count, pipeline.ErrInvalid, int64(store.MaxImportSeq))
	case !slices.IsSorted(d.Kept) || len(d.Kept) > 0 && (d.Kept[0] < 1 || d.Kept[len(d.Kept)-1] > d.Through):
		return fmt.Errorf("kept: %w (want numbers of turns up to through, ascending)", pipeline.ErrInvalid)
	}
	return nil
}

func checkPromoted(_ store.Key, rec *store.Record) error {
	var p conversation.PromotedThrough
	if err := decodeStrict(rec.Data, &p); err != nil {
		return err
	}
	switch {
	case rec.ID != conversation.KindPromoted:
		return fmt.Errorf("id %.100q: %w (want %.100q)", rec.ID, pipeline.ErrInvalid, conversation.KindPromoted)
	case p.Through < 0 || p.Through > store.MaxImportSeq:
		return fmt.Errorf("through %d: %w (0 to %d)", p.Through, pipeline.ErrInvalid, int64(store.MaxImportSeq))
	}
	return nil
}

func checkRelation(_ store.Key, rec *store.Record) error {
	var r memory.Relation
	if err := decodeStrict(rec.Data, &r); err != nil {
		return err
	}
	if err := r.Validate(); err != nil {
		return err
	}
	if want := memory.RelationID(&r); rec.ID != want {
		return fmt.Errorf("id %.100q: %w (want %.100q)", rec.ID, pipeline.ErrInvalid, want)
	}
	return nil
}

func checkFrame(_ store.Key, rec *store.Record) error {
	var r frames.Record
	if err := unmarshal(KindFrame, rec.Data, &r); err != nil {
		return err
	}
	if rec.ID != frameID(r.ID) {
		return fmt.Errorf("id %.100q: %w (want %.100q, the number of the frame)", rec.ID, pipeline.ErrInvalid, frameID(r.ID))
	}
	// A read begins at the number of a frame, and would miss a record below it.
	if r.ID >= store.MaxImportSeq || uint64(rec.Seq) <= r.ID {
		return fmt.Errorf("frame %d as seq %d: %w (want a greater seq, up to %d)", r.ID, rec.Seq, pipeline.ErrInvalid, int64(store.MaxImportSeq))
	}
	return nil
}

func checkRun(_ store.Key, rec *store.Record) error {
	var d frames.Document
	if err := unmarshal(KindRun, rec.Data, &d); err != nil {
		return err
	}
	if rec.ID != pipelineID {
		return fmt.Errorf("id %.100q: %w (want %.100q)", rec.ID, pipeline.ErrInvalid, pipelineID)
	}
	return nil
}

func checkState(_ store.Key, rec *store.Record) error {
	var s agent.State
	return unmarshal(KindState, rec.Data, &s)
}

// decodeStrict decodes an object and refuses keys that it does not know.
func decodeStrict(data []byte, to any) error {
	if len(data) == 0 || data[0] != '{' {
		return fmt.Errorf("%w: not a JSON object", pipeline.ErrInvalid)
	}
	return decode.Value("", data, to)
}

func checkCut(_ store.Key, rec *store.Record) error {
	var c cut
	if err := decodeStrict(rec.Data, &c); err != nil {
		return err
	}
	if want := providers.Handle(c.Text); rec.ID != want {
		return fmt.Errorf("id %.100q: %w (want %s, the handle of the text)", rec.ID, pipeline.ErrInvalid, want)
	}
	return nil
}
