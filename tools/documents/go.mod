module github.com/anchor-host/anchor-host/tools/documents

go 1.26.0

replace github.com/anchor-host/anchor-host => ../..

require (
	github.com/anchor-host/anchor-host v0.0.0-00010101000000-000000000000
	golang.org/x/text v0.42.0
)

require (
	github.com/agnivade/levenshtein v1.2.1 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/kljensen/snowball v0.10.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.60.0 // indirect
)
