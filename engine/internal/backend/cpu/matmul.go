package cpu

import (
	"errors"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

func compileMatMul(g *backend.Group) (func(*launch), error) {
	return nil, errors.New("matmul groups are not supported")
}
