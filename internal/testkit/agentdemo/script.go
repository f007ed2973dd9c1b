package agentdemo

import (
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Turns is the number of turns of the conversation.
const Turns = 60

// Notes is the turn before which the agent writes its knowledge down as frames. From then
// on observations replace the past messages, and nothing is compacted.
const Notes = 41

// services are the topics of the conversation.
var services = []string{"billing", "search", "mail", "login", "report", "export", "invoice"}

// notes are the frames that the agent writes down.
var notes = []struct{ kind, summary string }{
	{"intent_analysis", "The user wants every service of the shop to start on the new cluster."},
	{"step_summary", "Ports were taken by the old cluster; each service got its own from the range 9100 to 9199."},
	{"error_recovery", "The login service kept its old certificate; it was issued anew and the service restarted."},
}

// turn returns the new messages of a turn, counted from 1: a question, a reply,
// or calls of tools with their results.
func turn(n int) []pipeline.Message {
	service := services[n%len(services)]
	user := message.New(pipeline.RoleUser, fmt.Sprintf(
		"Turn %d: does the %s service start now? Please look at its log before you change anything.", n, service))
	switch {
	case n == 1:
		return []pipeline.Message{message.New(pipeline.RoleSystem, "You operate the services of a shop. Look before you act, and say what you did."), user}
	case n%4 == 1:
		return []pipeline.Message{user}
	case n%4 == 2:
		return calls(n, "read_log", service, "check_port", service)
	case n%4 == 3:
		return calls(n, "restart", service)
	}
	return []pipeline.Message{message.New(pipeline.RoleAssistant, fmt.Sprintf(
		"The %s service is up again. Its port was taken by a process of the old cluster, which I stopped. I will watch it.", service))}
}

// calls returns a message that calls tools, and the results. pairs alternates between the
// name of a tool and its argument.
func calls(n int, pairs ...string) []pipeline.Message {
	asked := pipeline.Message{Role: pipeline.RoleAssistant}
	var results []pipeline.Message
	for i := 0; i < len(pairs); i += 2 {
		tool, service := pairs[i], pairs[i+1]
		id := fmt.Sprintf("call-%d-%d", n, i/2)
		asked.Parts = append(asked.Parts, message.NewCall(id, tool, fmt.Sprintf(`{"service":%q}`, service)))
		results = append(results, message.NewResult(id, tool, output(n, tool, service)))
	}
	return append([]pipeline.Message{asked}, results...)
}

// output returns the output of a tool, which becomes longer in the course of the conversation.
func output(n int, tool, service string) string {
	var b strings.Builder
	for line := range 1 + n%3 {
		fmt.Fprintf(&b, "%s %s: step %d of turn %d, port %d bound by pid %d\n", tool, service, line+1, n, 9100+n, 4000+17*n+line)
	}
	return b.String()
}
