module github.com/anchor-host/anchor-host/tools/documents

go 1.26.0

replace github.com/anchor-host/anchor-host => ../..

require (
	github.com/anchor-host/anchor-host v0.0.0-00010101000000-000000000000
	golang.org/x/text v0.43.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/jolestar/go-commons-pool/v2 v2.1.2 // indirect
	github.com/saintfish/chardet v0.0.0-20230101081208-5e3ef4b5456d // indirect
	golang.org/x/sys v0.48.0 // indirect
)

require (
	github.com/agnivade/levenshtein v1.2.1 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/klippa-app/go-pdfium v1.21.4
	github.com/kljensen/snowball v0.10.0 // indirect
	github.com/ledongthuc/pdf v0.0.0-20260907135840-6c8c28e0e8a0
	github.com/tetratelabs/wazero v1.12.0
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.60.0 // indirect
)
