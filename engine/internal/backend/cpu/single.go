package cpu

import (
	"errors"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

func compileSingle(g *backend.Group) (func(*launch), error) {
	return nil, errors.New("single groups are not supported")
}
