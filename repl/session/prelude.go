package session

import (
	"errors"
	"fmt"
	"go/token"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// prelude declares the variables that lowered code shares with package rt, and ctx.
func (s *Session) prelude() error {
	if err := s.interp.Use("mcs/rt", "rt", s.rtSymbols()); err != nil {
		return err
	}
	if err := s.use("context"); err != nil {
		return err
	}
	const text = `package mcs
import __rt "mcs/rt"
import p__context "context"
var __stop bool
var ctx p__context.Context
var %[1]s, %[2]s, %[3]s int
func init() { __rt.Var("__stop", &__stop); __rt.Var("ctx", &ctx); __rt.Var("%[1]s", &%[1]s); __rt.Var("%[2]s", &%[2]s); __rt.Var("%[3]s", &%[3]s) }
`
	s.slots[lower.CellSlot], s.slots[lower.LiteralSlot], s.slots[lower.EngineSlot] = true, true, true
	file, err := s.parse(0, 1, 1, "", fmt.Sprintf(text, lower.MarkVar(lower.CellSlot), lower.MarkVar(lower.LiteralSlot), lower.MarkVar(lower.EngineSlot)), "")
	if err != nil {
		return err
	}
	p, err := s.interp.Compile(file)
	if err != nil {
		return err
	}
	if err := s.interp.Run(p); err != nil {
		return err
	}
	s.alias("context")
	s.imported["context"] = true
	stop, ok := s.rt.Variable("__stop").Addr().Interface().(*bool)
	if !ok {
		return errors.New("the interpreter's variables are not where they should be")
	}
	s.rt.Attach(&rt.Shared{Stop: stop})
	pkg, err := s.importer.Import("context")
	if err != nil {
		return err
	}
	t := pkg.Scope().Lookup("Context").Type()
	s.world.Version["ctx"] = 1
	s.world.Names["ctx"] = &world.Entity{Name: "ctx", Internal: "ctx", Kind: world.Var, Obj: types.NewVar(token.NoPos, types.NewPackage(world.PkgPath, world.PkgPath), "ctx", t), Kept: true}
	return nil
}
