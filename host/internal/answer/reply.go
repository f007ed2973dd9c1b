package answer

import (
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fault"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
)

// CheckReply checks what the contract says of a document beyond its form. changed is false if
// the guest answered that nothing changes. texts is the number of texts that were to be counted,
// and parts are what the guest was sent. Errors are a *[fault.Fault].
func CheckReply(reply any, changed bool, texts int, parts abi.PartSet) error {
	switch r := reply.(type) { // these two must not answer that nothing changes
	case *abi.FormatReply:
		return checkFormat(changed, r)
	case *abi.CountReply:
		return checkCounts(r.Counts, texts)
	}
	if !changed {
		return nil
	}
	switch r := reply.(type) {
	case *abi.TransformReply:
		if n := len(r.Queries); n == 0 || n > abi.MaxQueries {
			return invalid("%d queries (want 1 to %d)", n, abi.MaxQueries)
		}
	case *abi.EnrichReply:
		if r.QueryText == "" {
			return invalid("query_str is empty (want the query text to go on with, or status 1 for no change)")
		}
	case *abi.EstimateReply:
		if r.Tokens < 0 {
			return invalid("tokens %d (want 0 or more)", r.Tokens)
		}
	case *abi.ExtractReply:
		if err := r.Check(nil); err != nil {
			return invalid("%w", err)
		}
	case *abi.DistillReply:
		return checkDistilled(r)
	case *abi.ProvideReply:
		return checkProvided(r, parts)
	}
	return nil
}

// maxFormatType bounds the name that a guest gives to its format, in bytes.
const maxFormatType = 64

func checkFormat(changed bool, r *abi.FormatReply) error {
	if !changed || len(r.Output) == 0 {
		return invalid("no output (a formatter has no default to leave things at)")
	}
	if t := r.FormatType; !validFormatType(t) {
		return invalid("format_type %q (want at most %d bytes without control characters)", guesttext.Line(guesttext.Clip(t, maxFormatType)), maxFormatType)
	}
	return nil
}

func validFormatType(t string) bool { return len(t) <= maxFormatType && guesttext.Line(t) == t }

func checkCounts(counts []int, texts int) error {
	if len(counts) != texts {
		return invalid("%d counts for %d texts", len(counts), texts)
	}
	for i, n := range counts {
		if n < 0 {
			return invalid("counts[%d]: %d (want 0 or more)", i, n)
		}
	}
	return nil
}

// checkDistilled refuses blank texts, and an answer that has both observations and a
// reflection, or none of them.
func checkDistilled(r *abi.DistillReply) error {
	if observed := r.Replace != nil || r.Add != nil; observed == (r.Reflection != nil) {
		return invalid("want replace and add, or reflection (or status 1 for no change)")
	}
	if r.Reflection != nil && strings.TrimSpace(*r.Reflection) == "" {
		return invalid("reflection is blank (want a text, or status 1 for no change)")
	}
	for i, list := range [][]string{r.Replace, r.Add} {
		for j, text := range list {
			if strings.TrimSpace(text) == "" {
				return invalid("%s[%d]: blank (leave it out)", []string{"replace", "add"}[i], j)
			}
		}
	}
	return nil
}

// checkProvided refuses to replace what a guest was not sent, messages with unknown roles,
// and changes to the fields of an agent's state that guests must not change.
func checkProvided(r *abi.ProvideReply, parts abi.PartSet) error {
	if unread := parts.Unread(r); len(unread) > 0 {
		return invalid("%s: a provider that does not read them must not replace them (name %[1]s in reads, or leave it out of the answer)", unread[0])
	}
	for i, m := range r.Messages {
		switch m.Role {
		case "user", "assistant", "system", "tool":
		default:
			return invalid("messages[%d]: role %q (want user, assistant, system or tool)", i, m.Role)
		}
	}
	if st := r.State; st != nil && (st.RunID != "" || st.Messages != nil) {
		return fault.New(abi.ReasonDenied, "state: run_id and messages are not the guest's to change (it may name observations, reflection, data)")
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fault.New(abi.ReasonInvalidOutput, format, args...)
}
