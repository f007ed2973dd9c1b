package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/anchor-host/anchor-host/registry/trust"
)

// Trust says which plugins may run, and whose signatures count.
type Trust struct {
	Require    string              `key:"require" enum:"signed,digest,none" default:"none" doc:"What every plugin needs: signed is an entry in anchor.lock with a signature by a publisher, digest an entry. none also lets files run that anchor.lock does not list. What it lists must have its digest in any case."`
	Publishers map[string][]string `key:"publishers" doc:"The public keys that may sign, by repository, such as ghcr.io/acme/bm25, or ghcr.io/acme/* for all below. The longest that matches decides. A key is the second line of a .pub file of keygen or minisign, or a PEM block of cosign."`
	Revoked    Revoked             `key:"revoked" doc:"What does not count any more, whatever else is stated."`
}

// Revoked are keys and plugins that were withdrawn.
type Revoked struct {
	Keys    []string `key:"keys" doc:"Ids of keys. What they signed does not run."`
	Digests []string `key:"digests" doc:"Digests of modules or of artifacts that do not run."`
}

// Policy returns the policy in the form of its package. The configuration must have passed Check.
func (t *Trust) Policy() *trust.Policy {
	p := &trust.Policy{Require: trust.Require(t.Require), Publishers: map[string][]trust.PublicKey{}, RevokedDigests: t.Revoked.Digests}
	for pattern, keys := range t.Publishers {
		p.Publishers[pattern] = nil // without a key, nobody may sign
		for _, text := range keys {
			if k, err := trust.ParsePublicKey(text); err == nil {
				p.Publishers[pattern] = append(p.Publishers[pattern], k)
			}
		}
	}
	for _, id := range t.Revoked.Keys {
		if id, err := trust.ParseKeyID(id); err == nil {
			p.RevokedKeys = append(p.RevokedKeys, id)
		}
	}
	return p
}

// trust checks patterns, keys and digests.
func (k *checker) trust() {
	t := &k.config.Trust
	for _, pattern := range slices.Sorted(maps.Keys(t.Publishers)) {
		at := "trust.publishers." + pattern
		if err := trust.CheckPattern(pattern); err != nil {
			k.find(at, "%v", err)
		}
		seen := map[string]int{}
		for i, text := range t.Publishers[pattern] {
			place := fmt.Sprintf("%s[%d]", at, i)
			key, err := trust.ParsePublicKey(text)
			if err != nil {
				k.find(place, "%v", err)
				continue
			}
			if j, twice := seen[key.ID]; twice {
				k.find(place, "the key %s is also at [%d] (keep one)", key.ID, j)
			}
			seen[key.ID] = i
		}
	}
	for i, id := range t.Revoked.Keys {
		if _, err := trust.ParseKeyID(id); err != nil {
			k.find(fmt.Sprintf("trust.revoked.keys[%d]", i), "%v", err)
		}
	}
	for i, d := range t.Revoked.Digests {
		if err := trust.CheckDigest(d); err != nil {
			k.find(fmt.Sprintf("trust.revoked.digests[%d]", i), "%v", err)
		}
	}
}
