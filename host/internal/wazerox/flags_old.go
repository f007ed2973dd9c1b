//go:build wazero_1_11

package wazerox

// extendedConst is no feature: wazero 1.11 has no flag for extended constant expressions.
// "make wazero-before" builds with this tag.
const extendedConst = 0
