package main

import (
	"bytes"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/gcexportdata"
)

// typeData writes a package's types in the indexed export format. An empty FileSet leaves every position out:
// the bytes then depend on the declarations only, not on line numbers, folders or the toolchain's build id.
func typeData(pkg *types.Package) ([]byte, error) {
	var b bytes.Buffer
	if err := gcexportdata.Write(&b, token.NewFileSet(), pkg); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
