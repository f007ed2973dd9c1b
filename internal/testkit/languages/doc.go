// Command languages builds the example plugins of every language and tests them: with the
// conformance kit, and with the cases of testdata/languages in each lane. It makes a table
// of what each language costs. tools/languages.sh runs it with the toolchains of
// build/_toolchains.
//
//	go run ./internal/testkit/languages build
//	go run ./internal/testkit/languages test -write
//
// If the toolchain of a language is missing, the command says so and skips the language. If
// the environment variable CI is set, this is a failure.
package main
