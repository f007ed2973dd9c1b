// Package indextest is the contract of a [retrieve.Index] as tests.
package indextest
