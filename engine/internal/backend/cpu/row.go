package cpu

import (
	"errors"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

func compileRow(g *backend.Group) (func(*launch), error) {
	return nil, errors.New("row groups are not supported")
}
