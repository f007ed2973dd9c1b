module github.com/anchor-host/anchor-host/tools/attacks

go 1.26.0

require (
	github.com/anchor-host/anchor-host v0.0.0
	golang.org/x/sys v0.48.0
)

require (
	github.com/agnivade/levenshtein v1.2.1 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/dlclark/regexp2 v1.11.0 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/kljensen/snowball v0.10.0 // indirect
	github.com/pkoukk/tiktoken-go v0.1.8 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.2 // indirect
	github.com/tetratelabs/wazero v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/anchor-host/anchor-host => ../..
