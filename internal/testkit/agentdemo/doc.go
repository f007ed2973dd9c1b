// Package agentdemo is the demo of an agent loop: a conversation of 60 turns with tool calls.
// Before each call of the model, its messages go through "anchor-host assemble". The demo
// prints the cost of each call and checks the promises of the provider chain.
package agentdemo
