package host

import (
	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// checkReply checks what the contract says of a document beyond its form. texts is the number
// of texts that were to be counted.
func (o *Operation) checkReply(changed bool, texts int, reply any) error {
	switch r := reply.(type) { // these two must not answer that nothing changes
	case *abi.FormatReply:
		return o.checkFormat(changed, r)
	case *abi.CountReply:
		return o.checkCounts(r.Counts, texts)
	}
	if !changed {
		return nil
	}
	switch r := reply.(type) {
	case *abi.TransformReply:
		if n := len(r.Queries); n == 0 || n > abi.MaxQueries {
			return o.invalid("%d queries (want 1 to %d)", n, abi.MaxQueries)
		}
	case *abi.EnrichReply:
		if r.QueryText == "" {
			return o.invalid("query_str is empty (want the query text to go on with, or status 1 for no change)")
		}
	case *abi.EstimateReply:
		if r.Tokens < 0 {
			return o.invalid("tokens %d (want 0 or more)", r.Tokens)
		}
	case *abi.ProvideReply:
		return o.checkProvided(r)
	}
	return nil
}

// maxFormatType bounds the name that a guest gives to its format, in bytes.
const maxFormatType = 64

func (o *Operation) checkFormat(changed bool, r *abi.FormatReply) error {
	if !changed || len(r.Output) == 0 {
		return o.invalid("no output (a formatter has no default to leave things at)")
	}
	if t := r.FormatType; !validFormatType(t) {
		return o.invalid("format_type %q (want at most %d bytes without control characters)", oneLine(clip(t, maxFormatType)), maxFormatType)
	}
	return nil
}

func validFormatType(t string) bool { return len(t) <= maxFormatType && oneLine(t) == t }

func (o *Operation) checkCounts(counts []int, texts int) error {
	if len(counts) != texts {
		return o.invalid("%d counts for %d texts", len(counts), texts)
	}
	for i, n := range counts {
		if n < 0 {
			return o.invalid("counts[%d]: %d (want 0 or more)", i, n)
		}
	}
	return nil
}

// checkProvided refuses messages of a guest that was not sent any, messages with unknown roles, and changes to the fields of an agent's
// state that guests must not change.
func (o *Operation) checkProvided(r *abi.ProvideReply) error {
	if r.Messages != nil && !o.parts.Has(abi.PartMessages) {
		return o.invalid("messages of a provider that does not read them would replace the conversation (name messages in reads, or leave them out of the answer)")
	}
	for i, m := range r.Messages {
		switch m.Role {
		case "user", "assistant", "system", "tool":
		default:
			return o.invalid("messages[%d]: role %q (want user, assistant, system or tool)", i, m.Role)
		}
	}
	if st := r.State; st != nil && (st.RunID != "" || st.Messages != nil) {
		return o.refuse(guest.Faultf(abi.ReasonDenied, "state: run_id and messages are not the guest's to change (it may name observations, reflection, data)"))
	}
	return nil
}
