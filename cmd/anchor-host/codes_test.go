package main

import "github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"

// The exit codes under short names.
const (
	codeOK          = cli.CodeOK
	codeFailure     = cli.CodeFailure
	codeUsage       = cli.CodeUsage
	codeInvalid     = cli.CodeInvalid
	codeRefused     = cli.CodeRefused
	codeNotFound    = cli.CodeNotFound
	codeLimit       = cli.CodeLimit
	codeDegraded    = cli.CodeDegraded
	codeInterrupted = cli.CodeInterrupted
)
