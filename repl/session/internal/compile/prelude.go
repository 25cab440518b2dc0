package compile

import (
	"fmt"
	"go/token"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// Prelude compiles the declarations of ctx and of the variables that lowered code shares with package rt.
// The interpreter must have package rt.
func (c *Compiler) Prelude() (*yaegi.Program, error) {
	if err := c.know("context"); err != nil {
		return nil, err
	}
	const text = `package mcs
import __rt "mcs/rt"
import p__context "context"
var %[3]s bool
var ctx p__context.Context
var %[1]s, %[2]s, %[4]s int
func init() { __rt.Var("%[3]s", &%[3]s); __rt.Var("ctx", &ctx); __rt.Var("%[1]s", &%[1]s); __rt.Var("%[2]s", &%[2]s); __rt.Var("%[4]s", &%[4]s) }
`
	c.addSlots(lower.CellSlot, lower.LiteralSlot, lower.EngineSlot)
	file, err := c.parse(0, 1, 1, "", fmt.Sprintf(text, lower.MarkVar(lower.CellSlot), lower.MarkVar(lower.LiteralSlot), lower.StopVar, lower.MarkVar(lower.EngineSlot)), "")
	if err != nil {
		return nil, err
	}
	p, err := c.Interp.Compile(file)
	if err != nil {
		return nil, err
	}
	c.alias("context")
	c.imported["context"] = true
	pkg, err := c.importer.Import("context")
	if err != nil {
		return nil, err
	}
	t := pkg.Scope().Lookup("Context").Type()
	c.World.Version["ctx"] = 1
	c.World.Names["ctx"] = &world.Entity{Name: "ctx", Internal: "ctx", Kind: world.Var, Obj: types.NewVar(token.NoPos, types.NewPackage(world.PkgPath, world.PkgPath), "ctx", t), Kept: true}
	return p, nil
}
