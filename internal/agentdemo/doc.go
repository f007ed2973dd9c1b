// Package agentdemo is the demo of an agent loop: a conversation of 60 turns, with
// tool calls, whose messages go through "anchor-host assemble" before each call of
// the model. It prints what each call costs and checks what the provider chain
// promises.
package agentdemo
