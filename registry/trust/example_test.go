package trust_test

import (
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/registry/trust"
)

const manifestDigest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

// An author signs an artifact, and an operator who lists the key accepts it.
func ExamplePolicy_Verify() {
	key, err := trust.Generate()
	if err != nil {
		fmt.Println(err)
		return
	}
	plugin := trust.Plugin{Name: "bm25", Version: "1.2.0", ABI: 1, Permissions: "sha256:…", Source: "4f1c2d3"}
	envelope, err := key.SignStatement("ghcr.io/acme/bm25", manifestDigest, plugin)
	if err != nil {
		fmt.Println(err)
		return
	}

	policy := &trust.Policy{
		Require:    trust.RequireSigned,
		Publishers: map[string][]trust.PublicKey{"ghcr.io/acme/*": {key.Public()}},
	}
	signed := trust.Signatures{Envelopes: [][]byte{envelope}}
	signer, err := policy.Verify("oci://ghcr.io/acme/bm25:1.2", manifestDigest, signed)
	fmt.Println(signer.Publisher, signer.Plugin.Version, err)

	_, err = policy.Verify("oci://ghcr.io/other/bm25:1.2", manifestDigest, signed)
	fmt.Println(errors.Is(err, trust.ErrKey))
	_, err = policy.Verify("oci://ghcr.io/acme/bm25:1.2", manifestDigest, trust.Signatures{})
	fmt.Println(err)
	// Output:
	// ghcr.io/acme/* 1.2.0 <nil>
	// true
	// "oci://ghcr.io/acme/bm25:1.2": signature: look for: not signed, and trust.require is signed (ask its author to sign it)
}
