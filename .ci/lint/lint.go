//go:build tools

// Package lint pins the linters that .ci/run builds, apart from the product's
// own dependencies.
package lint

import (
	_ "honnef.co/go/tools/cmd/staticcheck"
	_ "mvdan.cc/gofumpt"
)
