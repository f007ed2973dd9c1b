package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

func (a *app) memoryCommand() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "memory",
		Short: "Keep facts and conversations",
		Long: `Keep facts and the turns of conversations in the store, by tenant. Commands work
on facts, or with --conversation on the turns of that conversation.

"build --conversation" puts the newest turns into the window. If anchor.yaml has
the key facts, a build also gets the facts that matter to the query.`,
		Example: `  anchor-host memory add --tag travel "Ann prefers the night train"
  anchor-host memory add --conversation chat-7 --role user "when do we leave?"
  anchor-host memory search "train"`,
	})
	cmd.AddCommand(a.memoryAddCommand(), a.memoryListCommand(), a.memorySearchCommand(), a.memoryGetCommand(),
		a.memoryForgetCommand(), a.memoryExportCommand(), a.memoryImportCommand(), a.memoryCollectCommand(),
		a.memoryUpdateCommand(), a.memoryPromoteCommand(), a.memoryConsolidateCommand(), a.memoryGraphCommand())
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

// filter returns what the flags select.
func (f *filterFlags) filter(cmd *cobra.Command) (memory.Filter, error) {
	if f.kind != "" && !memory.Type(f.kind).Valid() {
		return memory.Filter{}, cli.Usagef(cmd, "flag --type: want one of semantic, episodic, procedural, conversation, got %q", f.kind)
	}
	if f.conversation != "" {
		for _, name := range factFlags {
			if cmd.Flags().Changed(name) {
				return memory.Filter{}, cli.Usagef(cmd, "--%s and --conversation exclude each other (turns have none)", name)
			}
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

func (a *app) memoryAddCommand() *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add [flags] TEXT | --messages FILE",
		Short: "Remember a fact, or a turn of a conversation",
		Long: `Remember a fact and print it. The text is the argument, or with "-" what comes on
stdin. A fact that the same user and session already has is not added again; the
existing one is printed.

With --conversation the text becomes the newest turn of that conversation. The
first turn creates the conversation. With "memory: {conversation: {eviction: importance}}"
in anchor.yaml, the metadata key importance, from 0 to 1, decides which turns
leave the window first.

With --messages each message of a JSON file becomes a turn, with its images and its
calls of tools: one message, a list, or the body of a request, in the form of any API
that build writes. "-" reads stdin.`,
		Example: `  anchor-host memory add --user ann --tag travel --expires 720h "Ann is in Oslo"
  anchor-host memory add --conversation chat-7 --role assistant "At nine."
  anchor-host memory add --conversation chat-7 --messages history.json`,
		Args: cobra.MaximumNArgs(1),
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.id, "id", "", "id of the fact (default: a new one)")
	flags.StringVar(&f.role, "role", "user", "role of the turn: user, assistant, system, tool")
	flags.StringVar(&f.expires, "expires", "", "when the fact expires: after a time span such as 720h, or at a time such as 2030-01-02T15:04:05Z")
	flags.Float64Var(&f.relevance, "relevance", memory.DefaultRelevance, "how important the fact is, 0 to 1")
	flags.StringVar(&f.messages, "messages", "", "add the messages of this JSON file as turns (- is stdin)")
	metadataFlag(cmd, &f.metadata)
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.withStore(func(cmd *cobra.Command, args []string, s *session) error {
		filter, err := f.filter(cmd)
		if err != nil {
			return err
		}
		if f.messages != "" {
			l, err := a.addTurns(cmd, s, &f, args)
			if err != nil {
				return err
			}
			return a.Print(*format, l)
		}
		if err := cli.Exactly("TEXT")(cmd, args); err != nil {
			return err
		}
		text, err := a.text(args[0], "text")
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == "" {
			return cli.Usagef(cmd, "the text is empty")
		}
		var l cli.Listing
		if f.conversation != "" {
			l, err = s.addTurn(cmd, &f, text)
		} else {
			if cmd.Flags().Changed("role") {
				return cli.Usagef(cmd, "--role needs --conversation (a fact has no role)")
			}
			l, err = a.addFact(cmd, s, &f, filter, text)
		}
		if err != nil {
			return err
		}
		return a.Print(*format, l)
	})
	return cmd
}

func (a *app) addFact(cmd *cobra.Command, s *session, f *addFlags, filter memory.Filter, text string) (cli.Listing, error) {
	expires, err := expiry(f.expires, time.Now())
	if err != nil {
		return cli.Listing{}, cli.Usagef(cmd, "flag --expires: %w", err)
	}
	if !(f.relevance >= 0 && f.relevance <= 1) {
		return cli.Listing{}, cli.Usagef(cmd, "flag --relevance: want 0 to 1, got %v", f.relevance)
	}
	more, err := metadata(cmd, f.metadata)
	if err != nil {
		return cli.Listing{}, err
	}
	m, err := s.front.Facts(cmd.Context(), "")
	if err != nil {
		return cli.Listing{}, err
	}
	e, added, err := m.Add(cmd.Context(), memory.Entry{
		ID: f.id, Content: text, Relevance: f.relevance, Type: filter.Type, Tags: filter.Tags,
		UserID: filter.UserID, SessionID: filter.SessionID, ExpiresAt: expires, Metadata: more,
	})
	if err != nil {
		return cli.Listing{}, err
	}
	if !added {
		a.Say("the fact exists already")
	}
	return factListing([]memory.Entry{e}, e), nil
}

// addTurn appends a turn.
func (s *session) addTurn(cmd *cobra.Command, f *addFlags, text string) (cli.Listing, error) {
	t := pipeline.Turn{Role: pipeline.Role(f.role), Content: text}
	if !t.ValidRole() {
		return cli.Listing{}, cli.Usagef(cmd, "flag --role: want one of user, assistant, system, tool, got %q", f.role)
	}
	var err error
	if t.Metadata, err = metadata(cmd, f.metadata); err != nil {
		return cli.Listing{}, err
	}
	talk, err := s.front.Conversation(cmd.Context(), "", f.conversation)
	if err != nil {
		return cli.Listing{}, err
	}
	if t, err = talk.Add(cmd.Context(), t); err != nil {
		return cli.Listing{}, err
	}
	return turnListing([]pipeline.Turn{t}, t), nil
}

// addTurns adds the messages of a document to a conversation.
func (a *app) addTurns(cmd *cobra.Command, s *session, f *addFlags, args []string) (cli.Listing, error) {
	flags := cmd.Flags()
	switch {
	case f.conversation == "":
		return cli.Listing{}, cli.Usagef(cmd, "--messages needs --conversation")
	case len(args) > 0 || flags.Changed("role"):
		return cli.Listing{}, cli.Usagef(cmd, "--messages excludes TEXT and --role (a message states both)")
	}
	name, data, err := a.readMessages(f.messages)
	if err != nil {
		return cli.Listing{}, err
	}
	turns, err := config.ReadTurns(data)
	if err != nil {
		return cli.Listing{}, fmt.Errorf("%w: %s: %w", config.ErrInvalid, name, err)
	}
	given, err := metadata(cmd, f.metadata)
	if err != nil {
		return cli.Listing{}, err
	}
	talk, err := s.front.Conversation(cmd.Context(), "", f.conversation)
	if err != nil {
		return cli.Listing{}, err
	}
	for i := range turns {
		turns[i].Metadata = given
		if turns[i], err = talk.Add(cmd.Context(), turns[i]); err != nil {
			return cli.Listing{}, fmt.Errorf("%s: messages[%d]: %w", name, i, err)
		}
	}
	return turnListing(turns, turns), nil
}

func factListing(facts []memory.Entry, data any) cli.Listing {
	l := cli.Listing{Header: []string{"ID", "TYPE", "USER", "TAGS", "CREATED", "EXPIRES", "USED", "TEXT"}, Data: data}
	for i := range facts {
		e := &facts[i]
		l.Rows = append(l.Rows, []string{
			cli.OneCell(e.ID), string(e.Type), cli.Dash(cli.OneCell(e.UserID)), cli.Dash(cli.OneCell(strings.Join(e.Tags, ", "))),
			moment(e.CreatedAt), moment(e.ExpiresAt), strconv.Itoa(e.AccessCount), cli.Excerpt(e.Content),
		})
	}
	return l
}

func turnListing(turns []pipeline.Turn, data any) cli.Listing {
	l := cli.Listing{Header: []string{"TURN", "ROLE", "TOKENS", "CREATED", "TEXT"}, Data: data}
	for i := range turns {
		t := &turns[i]
		l.Rows = append(l.Rows, []string{
			strconv.FormatInt(t.Sequence, 10), string(t.Role), strconv.Itoa(t.TokenCount), moment(t.CreatedAt), cli.Excerpt(t.Content),
		})
	}
	return l
}

func (a *app) memoryListCommand() *cobra.Command {
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
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	f.add(cmd)
	cmd.Flags().BoolVar(&f.expired, "expired", false, "also list facts that have expired")
	cmd.Flags().BoolVar(&conversations, "conversations", false, "list the conversations")
	cmd.MarkFlagsMutuallyExclusive("conversation", "conversations")
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.withStoreToRead(func(cmd *cobra.Command, _ []string, s *session) error {
		filter, err := f.filter(cmd)
		if err != nil {
			return err
		}
		l, err := s.list(cmd.Context(), &f, filter, conversations)
		if err != nil {
			return err
		}
		return a.Print(*format, l)
	})
	return cmd
}

func (s *session) list(ctx context.Context, f *filterFlags, filter memory.Filter, conversations bool) (cli.Listing, error) {
	switch {
	case conversations:
		list, err := s.front.Conversations(ctx, "")
		return streamListing("CONVERSATION", "TURNS", list), err
	case f.conversation != "":
		talk, err := s.front.Conversation(ctx, "", f.conversation)
		if err != nil {
			return cli.Listing{}, err
		}
		turns, err := talk.Turns(ctx, 0, 0)
		return turnListing(turns, turns), err
	}
	m, err := s.front.Facts(ctx, "")
	if err != nil {
		return cli.Listing{}, err
	}
	facts, err := m.List(ctx, filter)
	if err != nil {
		return cli.Listing{}, err
	}
	return factListing(facts, facts), nil
}
