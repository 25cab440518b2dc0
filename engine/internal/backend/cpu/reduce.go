package cpu

import (
	"errors"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

func compileReduce(g *backend.Group) (func(*launch), error) {
	return nil, errors.New("reduce groups are not supported")
}
