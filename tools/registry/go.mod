module github.com/anchor-host/anchor-host/tools/registry

go 1.26.0

replace github.com/anchor-host/anchor-host => ../..

require (
	github.com/anchor-host/anchor-host v0.0.0-00010101000000-000000000000
	github.com/google/go-containerregistry v0.22.1
)

require (
	aead.dev/minisign v0.3.0 // indirect
	github.com/agnivade/levenshtein v1.2.1 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/gofrs/flock v0.13.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.2 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	oras.land/oras-go/v2 v2.7.0 // indirect
)
