package cpu

import (
	"errors"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

func compileMap(g *backend.Group) (func(*launch), error) {
	return nil, errors.New("map groups are not supported")
}
