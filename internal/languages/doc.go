// Command languages builds the example plugins of every language, and tests what
// it built: the conformance kit, the cases of testdata/languages in each lane, and
// a table of what each language costs. tools/languages.sh runs it, with the
// toolchains of build/_toolchains.
//
//	go run ./internal/languages build
//	go run ./internal/languages test -write
//
// A language whose toolchain is missing is skipped with a word, and a failure when
// the environment variable CI is set.
package main
