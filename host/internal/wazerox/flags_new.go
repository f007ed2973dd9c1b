//go:build !wazero_1_11

package wazerox

import "github.com/tetratelabs/wazero/experimental"

// extendedConst has wazero take extended constant expressions.
const extendedConst = experimental.CoreFeaturesExtendedConst
