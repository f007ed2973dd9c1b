package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/abi"
)

// The bounds that hosts set to answers; those of the contract are in package
// abi.
const (
	maxQueries    = 32
	maxFormatType = 64
)

// readDocument reads the answer of an operation whose answer is not a change set.
func (rep *reply) readDocument(ctx context.Context, d *Description, op *Operation, req *request, out []byte) *trouble {
	switch op.Operation {
	case abi.OpTransformQuery:
		return decodeInto(rep, out, judgeQueries)
	case abi.OpClassify:
		return decodeInto(rep, out, func(r *abi.ClassifyReply) *trouble { return utf8Trouble("label", r.Label) })
	case abi.OpEnrichQuery:
		return decodeInto(rep, out, func(r *abi.EnrichReply) *trouble {
			if strings.TrimSpace(r.QueryText) == "" && strings.TrimSpace(req.env.Query.Text) != "" {
				return troublef(caseEnrich, "query_str is empty for the query %q", clip(req.env.Query.Text))
			}
			return nil
		})
	case abi.OpMemory:
		return decodeInto(rep, out, func(r *abi.MemoryReply) *trouble {
			j := judge{d: d, op: op, req: req, c: &abi.Changes{Items: r.Items}}
			if t := j.newItems(); t != nil {
				return t
			}
			return j.limits(ctx)
		})
	case abi.OpCompact:
		return decodeInto(rep, out, func(r *abi.CompactReply) *trouble { return utf8Trouble("summary", r.Summary) })
	case abi.OpDistill:
		mode := req.doc.(abi.DistillRequest).Mode
		return decodeInto(rep, out, func(r *abi.DistillReply) *trouble { return judgeDistilled(mode, r) })
	case abi.OpExtract:
		known := append([]abi.Fact{}, req.doc.(abi.ExtractRequest).Facts...)
		return decodeInto(rep, out, func(r *abi.ExtractReply) *trouble {
			if err := r.Check(known); err != nil {
				return troublef(caseExtract, "%s", err)
			}
			return nil
		})
	case abi.OpProvide:
		return decodeInto(rep, out, func(r *abi.ProvideReply) *trouble { return judgeMessages(op, req, r) })
	case abi.OpEstimateTokens:
		return decodeInto(rep, out, func(r *abi.EstimateReply) *trouble {
			if r.Tokens < 0 {
				return troublef(caseEstimate, "tokens %d", r.Tokens)
			}
			return nil
		})
	case abi.OpFormat:
		return decodeInto(rep, out, judgeFormat)
	case abi.OpCountTokens:
		want := len(req.doc.(abi.CountRequest).Texts)
		return decodeInto(rep, out, func(r *abi.CountReply) *trouble { return judgeCounts(r, want) })
	}
	info, _ := abi.LookupOperation(op.Operation)
	if rep.doc = abi.NewDocument(info.Reply); rep.doc == nil {
		return nil // the operation has no answer
	}
	if err := abi.DecodeReply(out, rep.doc); err != nil {
		return troublef(caseDecodes, "%s", err)
	}
	return nil
}

// decodeInto decodes an answer strictly and judges it.
func decodeInto[R any](rep *reply, out []byte, judge func(*R) *trouble) *trouble {
	doc := new(R)
	if err := abi.DecodeReply(out, doc); err != nil {
		return troublef(caseDecodes, "%s", err)
	}
	rep.doc = doc
	return judge(doc)
}

// utf8Trouble refuses texts that are not UTF-8 after their JSON escapes are decoded.
func utf8Trouble(what, s string) *trouble {
	if strings.ToValidUTF8(s, "") != s {
		return troublef(caseUTF8, "%s is not UTF-8", what)
	}
	return nil
}

func judgeQueries(r *abi.TransformReply) *trouble {
	if n := len(r.Queries); n == 0 || n > maxQueries {
		return troublef(caseQueries, "%d queries", n)
	}
	for i, q := range r.Queries {
		if strings.TrimSpace(q.Text) == "" {
			return troublef(caseQueries, "queries[%d] has no text", i)
		}
	}
	return nil
}

func judgeDistilled(mode string, r *abi.DistillReply) *trouble {
	observed, reflected := r.Replace != nil || r.Add != nil, r.Reflection != nil
	if mode == abi.DistillObserve && (reflected || !observed) || mode == abi.DistillReflect && (observed || !reflected) {
		return troublef(caseDistill, "in the mode %s the answer has replace or add: %t, reflection: %t", mode, observed, reflected)
	}
	if reflected && strings.TrimSpace(*r.Reflection) == "" {
		return troublef(caseDistill, "reflection is blank")
	}
	for i, text := range slices.Concat(r.Replace, r.Add) {
		if strings.TrimSpace(text) == "" {
			return troublef(caseDistill, "observation %d is blank", i)
		}
	}
	return nil
}

// judgeParts checks that a message with parts edits a message of the request.
func judgeParts(req *request, i int, m *abi.Message) *trouble {
	sent, ok := req.doc.(abi.ProvideRequest)
	if m.Parts == nil || !ok {
		return nil
	}
	err := errors.New("the request has no such message")
	for j := range sent.Messages {
		if s := &sent.Messages[j]; s.Role == m.Role && s.Content == m.Content && s.Name == m.Name && s.ToolCallID == m.ToolCallID {
			if err = m.CheckParts(s); err == nil {
				return nil
			}
		}
	}
	return troublef(caseMessages, "messages[%d]: %s", i, err)
}

func judgeMessages(op *Operation, req *request, r *abi.ProvideReply) *trouble {
	if unread := op.Parts.Unread(r); slices.Contains(unread, abi.PartMessages) {
		return troublef(caseMessages, "messages of a provider that does not read them")
	} else if slices.Contains(unread, abi.PartMessageParts) {
		return troublef(caseMessages, "parts of messages of a provider that does not read message_parts")
	} else if len(unread) > 0 {
		return troublef(caseState, "%s of a provider that does not read it", unread[0])
	}
	for i, m := range r.Messages {
		switch m.Role {
		case "user", "assistant", "system", "tool":
		default:
			return troublef(caseMessages, "messages[%d] has the role %q", i, clip(m.Role))
		}
		if t := judgeParts(req, i, &m); t != nil {
			return t
		}
	}
	if st := r.State; st != nil && (st.RunID != "" || st.Messages != nil) {
		return troublef(caseState, "state names run_id or messages")
	}
	return nil
}

func judgeFormat(r *abi.FormatReply) *trouble {
	if len(r.Output) == 0 || string(r.Output) == "null" {
		return troublef(caseFormat, "no output")
	}
	if len(r.FormatType) > maxFormatType || strings.ContainsFunc(r.FormatType, unicode.IsControl) {
		return troublef(caseFormat, "format_type %q", clip(r.FormatType))
	}
	return nil
}

func judgeCounts(r *abi.CountReply, want int) *trouble {
	if len(r.Counts) != want {
		return troublef(caseCounts, "%d counts for %d texts", len(r.Counts), want)
	}
	for i, n := range r.Counts {
		if n < 0 {
			return troublef(caseCounts, "counts[%d] is %d", i, n)
		}
	}
	return nil
}
