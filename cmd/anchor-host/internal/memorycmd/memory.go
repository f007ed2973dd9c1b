// Package memorycmd implements "anchor-host memory": facts, their graph, and the turns of
// conversations.
package memorycmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

// Command returns "memory".
func Command(a *cli.App) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "memory",
		Short: "Keep facts and conversations",
		Long: `Keep facts and the turns of conversations in the store, by tenant. Commands work
on facts, or with --conversation on the turns of that conversation.

"build --conversation" puts the newest turns into the window. If anchor.yaml has
the key memory.facts, a build also gets the facts that matter to the query.`,
		Example: `  anchor-host memory add --tag travel "Ann prefers the night train"
  anchor-host memory add --conversation chat-7 --role user "when do we leave?"
  anchor-host memory search "train"`,
	})
	cmd.AddCommand(add(a), list(a), search(a), get(a), forget(a), export(a), load(a), collect(a), update(a), promote(a), consolidate(a), graph(a), review(a))
	return cmd
}

// filterFlags select facts, or turns of a conversation.
type filterFlags struct {
	conversation, user, session, kind string
	tags                              []string
	expired                           bool
}

func (f *filterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.conversation, "conversation", "", "select turns of this conversation instead of facts")
	cli.SettingFlag(cmd, "conversation", "")
	f.addFacts(cmd)
}

// addFacts adds the flags that select facts.
func (f *filterFlags) addFacts(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.user, "user", "", "facts of this user")
	flags.StringVar(&f.session, "session", "", "facts of one session")
	flags.StringVar(&f.kind, "type", "", "facts of this type: semantic, episodic, procedural, conversation")
	flags.StringSliceVar(&f.tags, "tag", nil, "facts with this tag; repeated, facts with all of the tags")
}

// onlyUser reports whether the flags name a user and nothing else.
func (f *filterFlags) onlyUser() bool {
	return f.user != "" && f.conversation == "" && f.session == "" && f.kind == "" && len(f.tags) == 0
}

// factFlags are the flags that do not apply to turns.
var factFlags = []string{"user", "session", "type", "tag", "relevance", "expires", "expired", "id", "top-k", "contains", "semantic"}

// refuse refuses the given flags beside another one.
func refuse(s *records.Session, beside, why string, flags ...string) error {
	for _, name := range flags {
		if s.Cmd.Flags().Changed(name) {
			return s.Usagef("--%s and --%s exclude each other (%s)", name, beside, why)
		}
	}
	return nil
}

// filter returns what the flags select.
func (f *filterFlags) filter(s *records.Session) (memory.Filter, error) {
	if err := checkType(s, f.kind); err != nil {
		return memory.Filter{}, err
	}
	if f.conversation != "" {
		if err := refuse(s, "conversation", "turns have none", factFlags...); err != nil {
			return memory.Filter{}, err
		}
	}
	return memory.Filter{UserID: f.user, SessionID: f.session, Type: memory.Type(f.kind), Tags: f.tags, Expired: f.expired}, nil
}

// addFlags are the flags of memory add.
type addFlags struct {
	filterFlags
	id, role, expires, messages string
	relevance                   float64
	metadata                    []string
}

func add(a *cli.App) *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add [flags] TEXT | --messages FILE",
		Short: "Remember a fact, or a turn of a conversation",
		Long: `Remember a fact and print it. The text is the argument, or with "-" what comes on
stdin. A fact that the same user and session already has is printed, not added again.

With --conversation the text becomes the newest turn of that conversation, which the
first turn creates. With --messages each message of a JSON file, or of stdin, becomes
a turn, with its images and tool calls: one message, a list, or the body of a request,
in the form of any API that build writes.`,
		Example: `  anchor-host memory add --user ann --tag travel --expires 720h "Ann is in Oslo"
  anchor-host memory add --conversation chat-7 --role assistant "At nine."
  anchor-host memory add --conversation chat-7 --messages history.json`,
		Args: cobra.MaximumNArgs(1),
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.id, "id", "", "id of the fact (default: a new one)")
	flags.StringVar(&f.role, "role", "user", "role of the turn: user, assistant, system, tool")
	flags.StringVar(&f.expires, "expires", "", "when the fact expires: after a time span such as 720h, or at a time such as 2030-01-02T15:04:05Z")
	flags.Float64Var(&f.relevance, "relevance", memory.DefaultRelevance, "how important the fact is, 0 to 1")
	flags.StringVar(&f.messages, "messages", "", "add the messages of this JSON file as turns (- is stdin)")
	metadataFlag(cmd, &f.metadata)
	return records.Command(a, records.Write, cmd, func(ctx context.Context, s *records.Session, args []string) (cli.Listing, error) {
		filter, err := f.filter(s)
		switch {
		case err != nil:
			return cli.Listing{}, err
		case f.messages != "":
			return addTurns(ctx, s, &f, args)
		}
		if err := cli.Exactly("TEXT")(cmd, args); err != nil {
			return cli.Listing{}, err
		}
		text, err := givenText(s, args[0])
		switch {
		case err != nil:
			return cli.Listing{}, err
		case f.conversation != "":
			return addTurn(ctx, s, &f, text)
		case cmd.Flags().Changed("role"):
			return cli.Listing{}, s.Usagef("--role needs --conversation (a fact has no role)")
		}
		return addFact(ctx, s, &f, filter, text)
	})
}

// givenText returns a text of the command line, or of stdin.
func givenText(s *records.Session, arg string) (string, error) {
	text, err := s.CLI.Text(arg, "text")
	if err == nil && strings.TrimSpace(text) == "" {
		err = s.Usagef("the text is empty")
	}
	return text, err
}

func addFact(ctx context.Context, s *records.Session, f *addFlags, filter memory.Filter, text string) (cli.Listing, error) {
	expires, err := expiry(f.expires, time.Now())
	if err != nil {
		return cli.Listing{}, s.Usagef("flag --expires: %w", err)
	}
	if err := checkShare(s, "relevance", f.relevance); err != nil {
		return cli.Listing{}, err
	}
	more, err := metadata(s, f.metadata)
	if err != nil {
		return cli.Listing{}, err
	}
	m, err := s.Facts(ctx, "")
	if err != nil {
		return cli.Listing{}, err
	}
	e, added, err := m.Add(ctx, memory.Entry{
		ID: f.id, Content: text, Relevance: f.relevance, Type: filter.Type, Tags: filter.Tags,
		UserID: filter.UserID, SessionID: filter.SessionID, ExpiresAt: expires, Metadata: more,
	})
	if err != nil {
		return cli.Listing{}, err
	}
	if !added {
		s.CLI.Say("the fact exists already")
	}
	return factListing([]memory.Entry{e}, e), nil
}

// addTurn appends a turn.
func addTurn(ctx context.Context, s *records.Session, f *addFlags, text string) (cli.Listing, error) {
	t := pipeline.Turn{Role: pipeline.Role(f.role), Content: text}
	if !t.ValidRole() {
		return cli.Listing{}, s.Usagef("flag --role: want one of user, assistant, system, tool, got %q", f.role)
	}
	turns, err := appendTurns(ctx, s, f, []pipeline.Turn{t})
	if err != nil {
		return cli.Listing{}, err
	}
	return turnListing(turns, turns[0]), nil
}

// addTurns adds the messages of a document to a conversation.
func addTurns(ctx context.Context, s *records.Session, f *addFlags, args []string) (cli.Listing, error) {
	switch {
	case f.conversation == "":
		return cli.Listing{}, s.Usagef("--messages needs --conversation")
	case len(args) > 0 || s.Cmd.Flags().Changed("role"):
		return cli.Listing{}, s.Usagef("--messages excludes TEXT and --role (a message states both)")
	}
	name, data, err := s.CLI.ReadAll(f.messages, "messages", request.MaxBytes)
	if err != nil {
		return cli.Listing{}, err
	}
	turns, err := config.ReadTurns(data)
	if err != nil {
		return cli.Listing{}, fmt.Errorf("%w: %s: %w", config.ErrInvalid, name, err)
	}
	if len(turns) > store.MaxBatch { // all are added, or none
		return cli.Listing{}, fmt.Errorf("%w: %s: %d messages (want at most %d: divide the file)", config.ErrInvalid, name, len(turns), store.MaxBatch)
	}
	if turns, err = appendTurns(ctx, s, f, turns); err != nil {
		return cli.Listing{}, fmt.Errorf("%s: %w", name, err)
	}
	return turnListing(turns, turns), nil
}

// appendTurns appends turns with the metadata of the flags to a conversation.
func appendTurns(ctx context.Context, s *records.Session, f *addFlags, turns []pipeline.Turn) ([]pipeline.Turn, error) {
	more, err := metadata(s, f.metadata)
	if err != nil {
		return nil, err
	}
	talk, err := s.Conversation(ctx, "", f.conversation)
	if err != nil {
		return nil, err
	}
	for i := range turns {
		turns[i].Metadata = more
	}
	return talk.AddAll(ctx, turns...)
}

func factListing(facts []memory.Entry, data any) cli.Listing {
	l := cli.Listing{Header: []string{"ID", "TYPE", "USER", "TAGS", "CREATED", "EXPIRES", "USED", "TEXT"}, Data: data}
	for i := range facts {
		e := &facts[i]
		l.Rows = append(l.Rows, []string{
			cli.OneCell(e.ID), string(e.Type), cli.Dash(e.UserID), cli.Dash(strings.Join(e.Tags, ", ")),
			records.Time(e.CreatedAt), records.Time(e.ExpiresAt), strconv.Itoa(e.AccessCount), cli.Excerpt(e.Content),
		})
	}
	return l
}

func turnListing(turns []pipeline.Turn, data any) cli.Listing {
	l := cli.Listing{Header: []string{"TURN", "ROLE", "TOKENS", "CREATED", "TEXT"}, Data: data}
	for i := range turns {
		t := &turns[i]
		l.Rows = append(l.Rows, []string{
			strconv.FormatInt(t.Sequence, 10), string(t.Role), strconv.Itoa(t.TokenCount), records.Time(t.CreatedAt), cli.Excerpt(t.Content),
		})
	}
	return l
}

func list(a *cli.App) *cobra.Command {
	var f filterFlags
	var conversations bool
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List facts, the turns of a conversation, or the conversations",
		Long: `List the facts that the flags select, in the order in which they were added.
--conversation lists the turns of that conversation instead, and --conversations
lists all conversations.

A damaged fact is left out, and a line on stderr names it; the exit code is still
0. "doctor" also finds damaged facts, and "memory forget" deletes them.`,
		Example: `  anchor-host memory list --user ann --tag travel
  anchor-host memory list --conversation chat-7 -o json
  anchor-host memory list --conversations`,
		Args: cobra.NoArgs,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.expired, "expired", false, "also list facts that have expired")
	cmd.Flags().BoolVar(&conversations, "conversations", false, "list the conversations")
	cmd.MarkFlagsMutuallyExclusive("conversation", "conversations")
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, _ []string) (cli.Listing, error) {
		filter, err := f.filter(s)
		switch {
		case err != nil:
			return cli.Listing{}, err
		case conversations:
			list, err := s.Conversations(ctx, "")
			return records.Streams("CONVERSATION", "TURNS", list), err
		case f.conversation != "":
			talk, err := s.Conversation(ctx, "", f.conversation)
			if err != nil {
				return cli.Listing{}, err
			}
			turns, err := talk.Turns(ctx, 0, 0)
			return turnListing(turns, turns), err
		}
		m, err := s.Facts(ctx, "")
		if err != nil {
			return cli.Listing{}, err
		}
		facts, err := m.List(ctx, filter)
		return factListing(facts, facts), err
	})
}

func get(a *cli.App) *cobra.Command {
	var run string
	cmd := &cobra.Command{
		Use:   "get [flags] HANDLE",
		Short: "Print the whole text of a result that was cut",
		Long: `Print the whole text of a tool's result. "assemble --run" cuts results that do not
fit, and puts a line with a handle, such as cut-1a2b3c4d5e6f7a8b9c0d, in the place of
what is missing. A run keeps the newest 256 texts of at most 2 MiB each, and at most
32 MiB of text. Without --run all runs of the tenant are searched.`,
		Example: `  anchor-host memory get cut-1a2b3c4d5e6f7a8b9c0d
  anchor-host memory get --run fix-42 cut-1a2b3c4d5e6f7a8b9c0d | grep error`,
		Args: cli.Exactly("HANDLE"),
	}
	cmd.Flags().StringVar(&run, "run", "", "search only this agent run")
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, args []string) (cli.Listing, error) {
		text, err := s.CutText(ctx, "", run, args[0])
		if errors.Is(err, store.ErrNotFound) {
			return cli.Listing{}, fmt.Errorf("%w (a run keeps the newest texts only)", err)
		}
		if err != nil {
			return cli.Listing{}, err
		}
		return cli.Listing{}, a.Emit(bytes.NewBufferString(text))
	}, cli.NoFormat)
}
