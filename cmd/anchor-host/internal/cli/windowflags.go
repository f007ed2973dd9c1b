package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/internal/config"
)

// either lists the values that a flag accepts, such as "a, b or c".
func either(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// WindowFlags adds the flags that override settings of the window.
func WindowFlags(cmd *cobra.Command) {
	cmd.Flags().Int("max-tokens", 0, "size of the window in tokens")
	cmd.Flags().String("tokenizer", "", either(append(slices.Clone(config.Tokenizers), "file:PATH of a tokenizer.json")))
	cmd.Flags().String("model", "", "target model, such as gpt-4o; it selects how tokens are counted")
	cmd.Flags().String("fit", "", "what max_tokens bounds: items (the sum of their tokens) or exact (the formatted output)")
	cmd.Flags().String("fill", "", "first_fit, value_per_token or knapsack")
	cmd.Flags().String("truncate", "", "where to cut texts that do not fit: sentence, character, or none (no cutting)")
	cmd.Flags().String("order", "", "priority, lost_in_the_middle, chronological or cache_stable")
	cmd.Flags().Bool("include-query", true, "end the output with the query, as the message of the user")
	cmd.Flags().String("format", "", either(config.Formats))
	cmd.Flags().String("preset", "", "budget: chat, rag or agent")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		tokenizer, _ := cmd.Flags().GetString("tokenizer")
		if cmd.Flags().Changed("model") && cmd.Flags().Changed("tokenizer") && !strings.HasPrefix(tokenizer, "file:") {
			return Usagef(cmd, "--model and --tokenizer exclude each other (only file:PATH, the tokenizer.json of the model, may stand beside it)")
		}
		return nil
	}
	cmd.Flags().String("timeout", "", "time limit of the whole build, such as 10s")
}
