// Command rune-tokens is a plugin that counts characters as tokens, for models that see
// characters.
package main

import (
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/sdk/pdk-go/counttokens"
)

func init() {
	counttokens.Each(func(text string, _ *struct{}) int { return utf8.RuneCountInString(text) })
}

func main() {}
