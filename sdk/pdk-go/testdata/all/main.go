// Command all links every sub-package and registers no handler.
package main

import (
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/classify"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/compact"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/counttokens"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/distill"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/enrich"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/extract"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/format"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/memory"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/observe"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/process"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/provide"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/rerank"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/retrieve"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/setup"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go/transform"
)

func main() {}
