package learned

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/agents/note"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/internal/agents/secrets"
	"github.com/anchor-host/anchor-host/store"
)

// refuses says why a candidate must not be learned. Empty means that it may.
func (m *Memory) refuses(ctx context.Context, p project.Project, c *Candidate, text string) (reason string, err error) {
	if c.Source != User && c.Source != Assistant {
		return "what a tool returned is not learned", nil
	}
	if what := secrets.Find(text); what != "" {
		return "it has " + what + " (say where the secret is kept instead)", nil
	}
	if c.Source == User {
		return "", nil
	}
	seen, err := m.repeatsTool(ctx, p, text)
	if err != nil || !seen {
		return "", err
	}
	return "it repeats an order that was in the result of a tool", nil
}

// holds says why a pending candidate is held. Empty means that it is not.
func holds(c *Candidate, text string) string {
	switch {
	case c.Everywhere:
		return "an agent stated it for all projects"
	case isOrder(text):
		return "it reads like an order to agents"
	}
	return ""
}

// orders are what texts say that want to steer an agent against its user. An imperative alone is none: "run make test"
// is what agents should remember.
var orders = lazily(`(?i)` + strings.Join([]string{
	`\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|any|other|your|safety|system)\b.{0,30}\b(?:instructions?|rules?|prompts?|guidelines?|polic(?:y|ies)|constraints?|messages?|checks?)`,
	`\b(?:do not|don't|never|without)\b.{0,20}\b(?:t(?:ell(?:ing)?|old)|inform(?:ing)?|mention(?:ing)?|ask(?:ing)?|notify(?:ing)?|alert(?:ing)?|show(?:ing)?|warn(?:ing)?)\b.{0,30}\b(?:user|human|anyone|developer|owner|reviewer)`,
	`\b(?:you are|act as|you're) (?:now )?(?:an?|the|in)\b.{0,40}\b(?:mode|assistant|admin|root|developer|agent)\b`, `\bsystem prompt\b`, `<\s*/?\s*(?:system|instructions?|important|admin)\b`,
	`\b(?:curl|wget|fetch|iwr)\b[^\n|]{0,300}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b`, `\brm\s+-[a-z]*[rf][a-z]*\s+[/~]`, `--no-verify\b`, `--dangerously`,
	`\b(?:send|post|upload|forward|exfiltrate|leak|e-?mail|copy|report|submit)\b.{0,60}\b(?:to|at)\b.{0,10}(?:https?://|[\w.+-]+@[\w-]+\.\w)`,
	`\b(?:disable|skip|turn off|deactivate)\b.{0,30}\b(?:security|safety|permission|approval|review|verification|sandbox|auth\w*|certificate)`,
	`\b(?:always|automatically|silently)\b.{0,30}\b(?:approve|accept|grant|allow|trust|run|execute|install)\b.{0,40}\b(?:without|any|all|every|from)\b`,
	`\b(?:read|open|cat|print|reveal|include|dump)\b.{0,40}(?:\.env\b|\.ssh\b|id_rsa|credentials?\b|private keys?|passwords?\b|api keys?|secrets?\b)`,
}, "|"))

// memorizing are orders to remember something.
var memorizing = lazily(`(?i)\b(?:save|remember|store|memori[sz]e|record|persist|learn|note down|add)\b.{0,80}\b(?:facts?|memor(?:y|ies)|notes?|future|sessions?|from now on|forever|permanently|always|must|preference)\b|\b(?:assistants?|agents?|AIs?|LLMs?|models?|claude|codex|copilot|cursor|gpt)\b.{0,40}\b(?:must|should|shall|need to|have to|always|never|remember)\b|\bfrom now on\b`)

// triggers are texts of which each order has one, in lower case. They are looked for first, because that takes a
// hundredth of the time.
var triggers = []string{"ignore", "disregard", "forget", "override", "bypass", "user", "human", "anyone", "developer", "owner", "reviewer", "mode", "assistant", "admin", "root", "agent", "prompt", "system", "instruction", "<important",
	"curl", "wget", "fetch", "iwr", "rm -", "--no-verify", "--dangerously", "http", "@", "disable", "skip", "turn off", "deactivate", "always", "automatically", "silently", ".env", ".ssh", "id_rsa", "credential", "private key", "password", "api key", "secret"}

// isOrder reports whether a text wants to steer agents.
func isOrder(text string) bool { return has(triggers, text) && orders().MatchString(text) }

// memoryTriggers are those of orders to remember something.
var memoryTriggers = []string{"save", "remember", "store", "memori", "record", "persist", "learn", "note", "add", "assistant", "agent", "ai", "llm", "model", "claude", "codex", "copilot", "cursor", "gpt", "from now on"}

// asksToRemember reports whether a text is an order to remember something.
func asksToRemember(text string) bool {
	return has(memoryTriggers, text) && memorizing().MatchString(text)
}

func has(list []string, text string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc(list, func(t string) bool { return strings.Contains(lower, t) })
}

// The bounds of what is remembered of orders.
const (
	maxToolText = 128 << 10 // bytes of a result that are looked at, at its beginning and at its end
	maxSentence = 4096      // bytes of a sentence; a longer one is data
	maxWindows  = 128       // orders of a project, the newest
	maxTerms    = 64        // terms of an order
	windowSize  = 3         // an order reaches over so many sentences: what to remember follows it
)

// seenID is the ID of the record with the orders.
const seenID = "orders"

// ToolResult tells the memory what a tool returned, so that orders in it are not learned: an agent that obeys one asks
// to save what it says. Of a result without orders to agents nothing is stored, of others the digests of the orders'
// words.
func (m *Memory) ToolResult(ctx context.Context, p project.Project, text string) error {
	windows := windowsOf(text)
	if len(windows) == 0 {
		return nil
	}
	key := m.key(p)
	key.Kind = note.KindOrders
	for range changeTries {
		seen, change, err := m.seen(ctx, key)
		if err != nil {
			return err
		}
		all := seen.Windows
		for _, w := range windows {
			if !slices.ContainsFunc(all, func(have []uint32) bool { return slices.Equal(have, w) }) {
				all = append(all, w)
			}
		}
		if len(all) == len(seen.Windows) {
			return nil
		}
		seen.Windows = all[max(0, len(all)-maxWindows):]
		data, err := json.Marshal(seen)
		if err != nil {
			return fmt.Errorf("agent memory: orders: encode: %w", err)
		}
		change.Put = []store.Record{{ID: seenID, Data: data, Time: m.o.Now()}}
		if err = m.store.Apply(ctx, change); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("agent memory: orders of %s: %w", p.ID, store.ErrConflict)
}

// seen returns the orders of a project, and a change whose condition is that they stay as they are.
func (m *Memory) seen(ctx context.Context, key store.Key) (seen note.Orders, change store.Change, err error) {
	change.Key = key
	rec, err := m.store.Get(ctx, key, seenID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		zero := int64(0)
		change.IfNewest = &zero
		return seen, change, nil
	case err != nil:
		return seen, change, fmt.Errorf("agent memory: orders: %w", err)
	}
	change.If = []store.Record{{ID: seenID, Data: rec.Data}}
	return seen, change, json.Unmarshal(rec.Data, &seen)
}

// HasOrders reports whether [Memory.ToolResult] would store anything of a text.
func HasOrders(text string) bool {
	return slices.ContainsFunc(looked(text), func(s string) bool { return len(s) <= maxSentence && (isOrder(s) || asksToRemember(s)) })
}

// looked returns the sentences of a result that are looked at.
func looked(text string) []string {
	if len(text) > 2*maxToolText {
		text = text[:maxToolText] + "\n" + text[len(text)-maxToolText:]
	}
	return sentences(strings.ToValidUTF8(text, " "))
}

// windowsOf returns the terms of each order in a text, with those of the sentences behind it.
func windowsOf(text string) (windows [][]uint32) {
	list := looked(text)
	for i, s := range list {
		if len(windows) == maxWindows {
			break
		}
		if len(s) <= maxSentence && (isOrder(s) || asksToRemember(s)) {
			if terms := digests(strings.Join(list[i:min(i+windowSize, len(list))], " ")); len(terms) > 0 {
				windows = append(windows, terms)
			}
		}
	}
	return windows
}

// digests are those of the first different terms of a text, sorted.
func digests(text string) (out []uint32) {
	for t := range termSet(cut(text, 4096)) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(t)) // never fails
		out = append(out, h.Sum32())
	}
	slices.Sort(out)
	return out[:min(len(out), maxTerms)]
}

// repeatsTool reports whether most terms of a text are in one order of a tool's result.
func (m *Memory) repeatsTool(ctx context.Context, p project.Project, text string) (bool, error) {
	key := m.key(p)
	key.Kind = note.KindOrders
	seen, _, err := m.seen(ctx, key)
	if err != nil {
		return false, err
	}
	terms := digests(text)
	for _, w := range seen.Windows {
		n := 0
		for _, t := range terms {
			if _, ok := slices.BinarySearch(w, t); ok {
				n++
			}
		}
		if n >= 2 && float64(n) >= 0.7*float64(len(terms)) {
			return true, nil
		}
	}
	return false, nil
}

// sentences cuts a text at the ends of its sentences and lines.
func sentences(text string) (out []string) {
	for line := range strings.Lines(text) {
		for rest := line; rest != ""; {
			end := len(rest)
			for _, sep := range []string{". ", "! ", "? ", "; "} {
				if i := strings.Index(rest, sep); i >= 0 && i+len(sep) < end {
					end = i + len(sep)
				}
			}
			if s := strings.TrimSpace(rest[:end]); s != "" {
				out = append(out, s)
			}
			rest = rest[end:]
		}
	}
	return out
}

func redact(text string) string { return secrets.Redact(text) }

func secretIn(text string) string { return secrets.Find(text) }
