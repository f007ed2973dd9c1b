// Command reads is a filter that reads columns that its manifest does not name.
package main

import (
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
)

func init() {
	filter.Each(func(it pdk.Item, _ *struct{}) bool {
		_, drop := it.MetaBool("drop")
		return !drop && it.Source() != "tool" && it.Text() != ""
	})
}

func main() {}
