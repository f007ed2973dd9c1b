package manifest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/internal/nearest"
	"github.com/anchor-host/anchor-host/internal/units"
)

// The bounds of what a manifest may ask for.
const (
	// maxName is short enough for file names and for ids of items.
	maxName = 64
	// minMemory is one page, maxMemory is the address space of 32 bits.
	minMemory = 64 << 10
	maxMemory = 4 << 30
	// maxNotice bounds the notice of a deprecated plugin, in bytes.
	maxNotice = 500
)

// Validate checks everything that can be checked without the module. The error
// is a *[Error].
func (m *Manifest) Validate() error {
	for _, f := range []func() *Error{m.checkHead, m.checkOperations, m.checkPermissions, m.checkLimits, m.checkSelfTest} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manifest) checkHead() *Error {
	switch {
	case m.ABI == 0:
		return mistake("abi", "is missing (want %d)", abi.Version)
	case m.ABI != abi.Version:
		err := mistake("abi", "is %d, this side speaks %d (build the plugin with an SDK for version %d)", m.ABI, abi.Version, abi.Version)
		err.Err = ErrABIVersion
		return err
	case m.Name == "":
		return mistake("name", "is missing (want lower-case letters, digits and hyphens)")
	case !ValidName(m.Name):
		return mistake("name", "%s is not a name (want lower-case letters, digits and single hyphens, a letter first, at most %d)", jsontext.Quote(m.Name), maxName)
	case m.Version == "":
		return mistake("version", "is missing (want a semantic version such as 0.1.0)")
	case !validVersion(m.Version):
		return mistake("version", "%s is not a semantic version (want one such as 0.1.0)", jsontext.Quote(m.Version))
	case len(m.Deprecated) > maxNotice || strings.ContainsFunc(m.Deprecated, unicode.IsControl):
		return mistake("deprecated", "is no short line (want at most %d bytes without control characters)", maxNotice)
	case m.Settings != nil && !isObject(m.Settings):
		return mistake("settings", "is no object (want a JSON Schema)")
	}
	return nil
}

func (m *Manifest) checkOperations() *Error {
	if len(m.Operations) == 0 {
		return mistake("operations", "is empty (name at least one operation)")
	}
	for op := range m.Operations {
		if !op.Valid() {
			return mistake(join("operations", string(op)), "unknown operation%s", nearest.Hint(string(op), operationNames()))
		}
	}
	for _, info := range abi.Operations {
		if spec, ok := m.Operations[info.Op]; ok {
			if err := spec.check("operations."+string(info.Op), info); err != nil {
				return err
			}
		}
	}
	if _, ok := m.Operations[abi.OpEstimateTokens]; ok {
		if _, ok := m.Operations[abi.OpProvide]; !ok {
			return mistake("operations.estimate_tokens", "has no provide to estimate for (add operations.provide)")
		}
	}
	if len(m.Operations) == 1 {
		if _, ok := m.Operations[abi.OpInit]; ok {
			return mistake("operations", "has only init (name an operation that a step can use)")
		}
	}
	return nil
}

func operationNames() []string {
	names := make([]string, len(abi.Operations))
	for i, info := range abi.Operations {
		names[i] = string(info.Op)
	}
	return names
}

func (s *OperationSpec) check(at string, info abi.OperationInfo) *Error {
	if err := s.checkReads(at, info); err != nil {
		return err
	}
	if err := s.checkWrites(at, info); err != nil {
		return err
	}
	if s.Timeless && info.Op != abi.OpInit {
		return mistake(at+".timeless", "has no meaning (only init has it; remove it)")
	}
	if err := s.checkTool(at, info); err != nil {
		return err
	}
	if s.Settings != nil {
		if info.Op == abi.OpInit {
			return mistake(at+".settings", "is in the wrong place (the schema of the init settings is settings at the top)")
		}
		if !isObject(s.Settings) {
			return mistake(at+".settings", "is no object (want a JSON Schema)")
		}
	}
	return s.Defaults.check(at+".defaults", info)
}

// toolOperations are those of which a step can be a tool: the agent gives a query, and texts.
var toolOperations = []abi.Operation{abi.OpRetrieve, abi.OpProcess, abi.OpFilter, abi.OpRerank}

// maxTool bounds what a manifest says of a tool, in bytes.
const maxTool = 500

func (s *OperationSpec) checkTool(at string, info abi.OperationInfo) *Error {
	switch {
	case s.Tool == "":
	case !slices.Contains(toolOperations, info.Op):
		return mistake(at+".tool", "has no meaning (retrieve, process, filter and rerank have it; remove it)")
	case len(s.Tool) > maxTool || strings.ContainsFunc(s.Tool, unicode.IsControl):
		return mistake(at+".tool", "is no line of at most %d bytes (say what the tool does)", maxTool)
	}
	return nil
}

func (s *OperationSpec) checkReads(at string, info abi.OperationInfo) *Error {
	for i, name := range s.Reads {
		key := index(at+".reads", i)
		readable := info.Readable()
		if len(readable) == 0 {
			return mistake(at+".reads", "has no meaning (%s receives what it must have; remove it)", info.Op)
		}
		if !slices.Contains(readable, name) {
			return mistake(key, "unknown column %s%s", jsontext.Quote(name), nearest.Hint(name, readable))
		}
		if slices.Contains(s.Reads[:i], name) {
			return mistake(key, "names %s again (name each column once)", name)
		}
	}
	if _, parts, _ := abi.ReadsOf(info.Op, s.Reads); len(parts.Missing(info.Op)) > 0 {
		return mistake(at+".reads", "lacks %s (the answer replaces what it stands for; name it)", parts.Missing(info.Op)[0])
	}
	return nil
}

func (s *OperationSpec) checkWrites(at string, info abi.OperationInfo) *Error {
	allowed := make([]string, len(info.Writes))
	for i, c := range info.Writes {
		allowed[i] = string(c)
	}
	for i, c := range s.Writes {
		key := index(at+".writes", i)
		switch {
		case len(allowed) == 0:
			return mistake(at+".writes", "has no meaning (%s changes no items; remove it)", info.Op)
		case !slices.Contains(abi.AllChanges, c):
			return mistake(key, "unknown change %s%s", jsontext.Quote(string(c)), nearest.Hint(string(c), allowed))
		case !slices.Contains(info.Writes, c):
			return mistake(key, "%s cannot change %s (want one of %s)", info.Op, c, strings.Join(allowed, ", "))
		case slices.Contains(s.Writes[:i], c):
			return mistake(key, "names %s again (name each change once)", c)
		}
	}
	if s.MaxPriority == 0 {
		return nil
	}
	if s.MaxPriority < 1 || s.MaxPriority > abi.MaxPriority {
		return mistake(at+".max_priority", "is %d (want 1 to %d)", s.MaxPriority, abi.MaxPriority)
	}
	if writes := s.writes(info); !writes.Has(abi.ChangeItems) && !writes.Has(abi.ChangePriority) {
		return mistake(at+".max_priority", "has no meaning (the operation writes neither items nor priority; add one to writes or remove it)")
	}
	return nil
}

func (s *OperationSpec) writes(info abi.OperationInfo) abi.ChangeSet {
	list := s.Writes
	if list == nil {
		list = info.DefaultWrites
	}
	var set abi.ChangeSet
	for _, c := range list {
		set = set.With(c)
	}
	return set
}

func (d *StepDefaults) check(at string, info abi.OperationInfo) *Error {
	placed := info.Step || info.Op == abi.OpProvide
	switch {
	case d.Priority != 0 && !placed:
		return mistake(at+".priority", "has no meaning (%s is not a step; remove it)", info.Op)
	case d.OnError != "" && !placed:
		return mistake(at+".on_error", "has no meaning (%s is not a step; remove it)", info.Op)
	case d.OnError != "" && d.OnError != "raise" && d.OnError != "skip":
		return mistake(at+".on_error", "is %s (want raise or skip)", jsontext.Quote(d.OnError))
	case d.TopK != 0 && !info.TopK && info.Op != abi.OpTransformQuery && info.Op != abi.OpClassify:
		return mistake(at+".top_k", "has no meaning (%s returns no ranked items; remove it)", info.Op)
	case d.TopK < 0:
		return mistake(at+".top_k", "is %d (want 1 or more)", d.TopK)
	case d.Timeout != "" && info.Op == abi.OpInit:
		return mistake(at+".timeout", "is in the wrong place (the time of init is limits.init_timeout)")
	case d.Timeout != "":
		return checkDuration(at+".timeout", d.Timeout)
	}
	return nil
}

func (m *Manifest) checkLimits() *Error {
	l := m.Limits
	if l.Timeout != "" {
		if err := checkDuration("limits.timeout", l.Timeout); err != nil {
			return err
		}
	}
	if l.InitTimeout != "" {
		if err := checkDuration("limits.init_timeout", l.InitTimeout); err != nil {
			return err
		}
	}
	if l.Memory != "" {
		if err := checkSize("limits.memory", l.Memory, minMemory, maxMemory); err != nil {
			return err
		}
	}
	if l.Output != "" {
		return checkSize("limits.output", l.Output, 1, jsontext.MaxBytes)
	}
	return nil
}

// maxSelfTest is the largest number of calls in a self test.
const maxSelfTest = 16

func (m *Manifest) checkSelfTest() *Error {
	if len(m.SelfTest) > maxSelfTest {
		return mistake("self_test", "has %d calls (want at most %d)", len(m.SelfTest), maxSelfTest)
	}
	for i, t := range m.SelfTest {
		at := index("self_test", i)
		_, known := m.Operations[t.Operation]
		switch {
		case t.Operation == "":
			return mistake(at+".operation", "is missing (name one of the plugin's operations)")
		case !known || t.Operation == abi.OpInit:
			return mistake(at+".operation", "%s is not an operation of the plugin that can be called", jsontext.Quote(string(t.Operation)))
		case !isObject(t.Input):
			return mistake(at+".input", "is no object (want the request document of %s)", t.Operation)
		case t.Output == nil:
			return mistake(at+".output", "is missing (want the answer, or null for no change)")
		}
	}
	return nil
}

func checkDuration(at, s string) *Error {
	if _, err := units.ParseDuration(s); err != nil {
		return &Error{Path: at, Msg: err.Error(), Err: err}
	}
	return nil
}

func checkSize(at, s string, least, most int64) *Error {
	n, err := units.ParseSize(s)
	if err != nil {
		return &Error{Path: at, Msg: err.Error(), Err: err}
	}
	if n < least || n > most {
		return mistake(at, "is %s (want %s to %s)", s, units.FormatSize(least), units.FormatSize(most))
	}
	return nil
}

// Reads returns the columns that op reads. It returns none if m does not have op.
func (m *Manifest) Reads(op abi.Operation) abi.ColumnSet {
	set, _, _ := abi.ReadsOf(op, m.Operations[op].Reads)
	return set
}

// Parts returns the parts of its request, other than columns, that op reads. If m names no part,
// these are all parts; see [abi.ReadsOf].
func (m *Manifest) Parts(op abi.Operation) abi.PartSet {
	_, set, _ := abi.ReadsOf(op, m.Operations[op].Reads)
	return set
}

// Writes returns the changes that op may make: those that m states, or the defaults of the
// operation. It returns none if m does not have op.
func (m *Manifest) Writes(op abi.Operation) abi.ChangeSet {
	spec, ok := m.Operations[op]
	info, known := abi.LookupOperation(op)
	if !ok || !known {
		return 0
	}
	return spec.writes(info)
}

func isObject(raw json.RawMessage) bool {
	return json.Valid(raw) && strings.HasPrefix(strings.TrimLeft(string(raw), " \t\r\n"), "{")
}

// ValidName reports whether a plugin may have this name: at most 64 bytes of lower-case
// letters, digits and single hyphens, beginning with a letter.
func ValidName(s string) bool {
	if s == "" || len(s) > maxName || s[0] < 'a' || s[0] > 'z' || strings.HasSuffix(s, "-") || strings.Contains(s, "--") {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// validVersion checks the form of Semantic Versioning 2.0.
func validVersion(s string) bool {
	s, build, hasBuild := strings.Cut(s, "+")
	core, pre, hasPre := strings.Cut(s, "-")
	if hasBuild && !validLabels(build, false) || hasPre && !validLabels(pre, true) {
		return false
	}
	parts := strings.Split(core, ".")
	for _, p := range parts {
		if _, err := strconv.ParseUint(p, 10, 32); err != nil || len(p) > 1 && p[0] == '0' {
			return false
		}
	}
	return len(parts) == 3
}

// validLabels checks the labels after a hyphen or a plus; before the plus,
// numbers have no leading zero.
func validLabels(s string, pre bool) bool {
	for _, l := range strings.Split(s, ".") {
		if l == "" || strings.Trim(l, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-") != "" {
			return false
		}
		if pre && len(l) > 1 && l[0] == '0' && strings.Trim(l, "0123456789") == "" {
			return false
		}
	}
	return true
}
