package pipeline

import (
	"context"
	"strings"
)

// KeywordClassifier is a [QueryClassifier] that looks for keywords. It is safe for
// concurrent use.
type KeywordClassifier struct {
	// Rules are tried in order. The first rule with a keyword in the text decides.
	Rules []KeywordRule
	// Default is the label of a query that matches no rule.
	Default string
}

// KeywordRule gives a label to the queries that contain one of its keywords. A keyword
// matches anywhere in the text, also inside words. Upper and lower case are the same.
type KeywordRule struct {
	Label    string
	Keywords []string
}

// Classify returns the label of the first rule that matches. It ends with the error of ctx.
func (c KeywordClassifier) Classify(ctx context.Context, q *Query) (string, error) {
	text := strings.ToLower(q.Text)
	for _, rule := range c.Rules {
		for _, keyword := range rule.Keywords {
			if ctx.Err() != nil { // there may be many, and the text may be long
				return "", ctx.Err()
			}
			if strings.Contains(text, strings.ToLower(keyword)) {
				return rule.Label, nil
			}
		}
	}
	return c.Default, nil
}
