package magics

import (
	"context"
	_ "embed"
	"slices"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcs-notebook/mcs/repl/display"
)

//go:embed commands.toml
var commandsText []byte

// said is what commands.toml says.
var said = sync.OnceValue(func() (table struct {
	Typed   [][2]string
	Instead map[string]string
	Command []*struct {
		Magic
		Like string // a command whose flags come before those of this one
	}
}) {
	if err := toml.Unmarshal(commandsText, &table); err != nil {
		panic(err)
	}
	return table
})

var table struct {
	sync.Once
	rows []*Magic
}

// rows are all magics in the order in which help lists them.
func rows() []*Magic {
	table.Do(func() {
		run := functions()
		for _, m := range said().Command {
			if other := slices.IndexFunc(table.rows, func(o *Magic) bool { return o.Name == m.Like }); other >= 0 {
				m.Flags = slices.Concat(table.rows[other].Flags, m.Flags)
			}
			m.run = run[m.Name]
			table.rows = append(table.rows, &m.Magic)
		}
	})
	return table.rows
}

// A function runs a command.
type function = func(ctx context.Context, c *call) (display.Value, error)

// functions are what runs the commands, by their names.
func functions() map[string]function {
	return map[string]function{
		"!": runShell, ":=!": captureShell, "?": runInspect, "??": runInspect,
		"alias": runAlias, "bench": runBench, "cd": runCd, "del": runDel, "device": runDevice, "edit": editCell, "env": runEnv,
		"get": runGet, "graph": runGraph, "guard": runGuard, "help": runHelp, "history": showHistory, "kernels": runKernels,
		"load": loadFile, "lprof": runLineProfile, "mem": runMem, "plot": runPlot, "profile": runProfile, "reset": runReset,
		"roofline": runRoofline, "run": runFile, "save": saveFile, "seed": runSeed, "show": runShow, "store": runStore,
		"tb": runTraceback, "time": runTime, "timeit": runTimeit, "whos": runWhos,
	}
}
