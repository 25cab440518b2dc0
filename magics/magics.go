// Package magics is the one table of commands that are not Go: %time, %kernels, %whos, !command, name?.
//
// A [Magic] is a row: name, kind, flags, one line of summary, long help, and the function that runs it.
// Help, completion and docs/magics.md are made from the rows. A magic knows the session and the engine,
// but not the terminal: it returns a display.Value and the front end chooses how to show it.
//
// Reading order: magics.go, parse.go, then any family: vars.go, files.go, timing.go, kernels.go,
// kerneltimes.go, profile.go, lprof.go, roofline.go, plot.go, graph.go, memory.go, engine.go,
// ranks.go, shell.go, folder.go, modules.go.
package magics

//go:generate go test -run ^TestManualIsCurrent$ -write .

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A Magic is a row of the table.
type Magic struct {
	Name    string // without the percent sign; "!", "?" and "??" are written as such
	Family  string // heading under which help lists it
	Args    string // the arguments after the flags, in the form of help: "STATEMENT", "[FILE]"
	Flags   []Flag
	Cell    bool   // whether %%name takes the whole cell as its argument
	Takes   Takes  // the kind of the arguments, for completion
	Summary string // one line
	Help    string // the rest, wrapped by hand
	Example string // lines that a reader can type
	Varies  bool   // it shows what it has measured: another text each time
	Outside bool   // it runs a command of the system
	Session bool   // it is about the session as such, and has no place in a file made of it

	needs string // what the arguments are called that it cannot do without; it gets them without spaces around
	run   func(ctx context.Context, c *call) (display.Value, error)
	// Do runs a command of Table.More; args is the text behind its name.
	Do func(ctx context.Context, s *session.Session, args string) (display.Value, error)
}

// Takes is a kind of arguments.
type Takes int

const (
	TakesNothing Takes = iota
	TakesGo
	TakesNames
	TakesFiles
	TakesFolders
	TakesEnv
	TakesMagics
	TakesDevices
	TakesKept // names of variables, or with -r or -d of what %store keeps
)

// A Flag is an option of a magic: -name, -name=value or -name value.
type Flag struct {
	Name    string
	Kind    FlagKind
	Default string
	Choices []string // of a Choice flag
	Arg     string   // help's name for the value of a Text flag: "FILE"
	Help    string
	Outside bool // with it the magic writes a file
}

// FlagKind is the type of a flag's value.
type FlagKind int

const (
	Switch FlagKind = iota // present or not; -name=false is not
	Integer
	Duration
	Choice
	Text // a word, or any text in quotes
)

// A call is one use of a magic.
type call struct {
	s     *session.Session
	table Table
	magic *Magic
	flags map[string]any // by name, every flag of the row: bool, int, time.Duration or string
	rest  string         // the text after the flags; for %% the rest of the line and the cell's other lines

	before *notation.Statements // of -setup; nil without it

	changes func() (changed []string, complete bool) // since before the first run: see session.Changes
}

// Table is the table of magics; it implements session.Commands.
type Table struct {
	Clock bench.Clock // what %timeit and %bench measure with; nil: the machine's
	More  []*Magic    // commands of one front end, such as those of a course
}

var _ session.Commands = Table{}

var table struct {
	once sync.Once
	rows []*Magic
}

// rows are all magics in the order in which help lists them.
func rows() []*Magic {
	table.once.Do(func() {
		for _, family := range [][]*Magic{helpMagics(), timingMagics(), kernelMagics(), profileMagics(), graphMagics(), rooflineMagics(), plotMagics(), varMagics(), engineMagics(), rankMagics(), fileMagics(), moduleMagics(), shellMagics()} {
			table.rows = append(table.rows, family...)
		}
	})
	return table.rows
}

// Magics returns the rows of the table in the order in which help lists them. They are shared: do not change
// them.
func Magics() []*Magic { return rows() }

// rows are those of the table and those of its front end.
func (t Table) rows() []*Magic {
	if len(t.More) == 0 {
		return rows()
	}
	return slices.Concat(rows(), t.More)
}

// Lookup returns the magic with this name, without percent sign, or nil.
func Lookup(name string) *Magic { return Table{}.lookup(name) }

func (t Table) lookup(name string) *Magic {
	for _, m := range t.rows() {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Run runs one command line, or a whole cell that begins with %%.
func (t Table) Run(ctx context.Context, s *session.Session, line string) (display.Value, error) {
	name, args, whole := cell.ParseCommand(unalias(s.Aliases(), line))
	m := t.lookup(name)
	switch {
	case m == nil:
		return nil, t.unknown(name, args)
	case whole && !m.Cell:
		return nil, fmt.Errorf("%%%%%s: works on a line only; write %%%s", name, name)
	}
	flags, rest, err := m.parse(args)
	if err != nil {
		return nil, err
	}
	if m.Outside && s.Confined() {
		return nil, fmt.Errorf("%s: %w", name, session.ErrConfined)
	}
	if m.outside(flags) {
		s.NoteOutside()
	}
	var v display.Value
	tensor.Within(ctx, func() {
		c := &call{s: s, table: t, magic: m, flags: flags, rest: rest}
		switch {
		case m.needs != "":
			c.rest, err = c.need(m.needs)
		case m.Args == "" && m.Takes == TakesNothing:
			err = c.nothing()
		}
		switch {
		case err != nil:
		case m.Do != nil:
			v, err = m.Do(ctx, s, strings.TrimSpace(rest))
		default:
			v, err = m.run(ctx, c)
		}
	})
	if refused := new(session.CheckError); !whole && errors.As(err, &refused) {
		typeable(refused, line, rest)
	}
	var stopped *tensor.Error
	if ctx.Err() != nil && errors.As(err, &stopped) {
		err = session.ErrInterrupted // an evaluation that ctx has stopped
	}
	return v, err
}

// outside says whether a call with these flags changes what is outside of the session.
func (m *Magic) outside(flags map[string]any) bool {
	return m.Outside || slices.ContainsFunc(m.Flags, func(f Flag) bool { return f.Outside && flags[f.Name] != "" })
}

// Varies says whether a command shows another text each time.
func (t Table) Varies(s *session.Session, line string) bool {
	name, _, _ := cell.ParseCommand(unalias(s.Aliases(), line))
	m := t.lookup(name)
	return m != nil && m.Varies
}

// typeable puts the command before the lines that stand for its statement: `%timeit m.Forward(x)` for
// `%timeit m(x)`.
func typeable(e *session.CheckError, line, statement string) {
	command, ok := strings.CutSuffix(line, statement)
	for i := range e.Diags {
		goText, writes := strings.CutPrefix(e.Diags[i].Hint, "write ")
		if ok && writes && strings.HasPrefix(line, "%") && strings.TrimSpace(e.Diags[i].Source) == strings.TrimSpace(statement) {
			e.Diags[i].Hint = "write " + command + goText
		}
	}
}

// sign writes a magic's name as it is typed.
func (m *Magic) sign() string {
	switch m.Name {
	case "!":
		return "!"
	case ":=!":
		return "name := !"
	case "?", "??":
		return "name" + m.Name
	}
	return "%" + m.Name
}

// usage is the line that shows how a magic is called.
func (m *Magic) usage() string {
	parts := []string{m.sign()}
	for _, f := range m.Flags {
		parts = append(parts, "["+f.usage()+"]")
	}
	if m.Args != "" && m.Name == "!" {
		return "!" + m.Args
	}
	if m.Name == ":=!" {
		return m.Args
	}
	if m.Args != "" {
		parts = append(parts, m.Args)
	}
	return strings.Join(parts, " ")
}

func (f *Flag) usage() string {
	switch f.Kind {
	case Integer:
		return "-" + f.Name + " N"
	case Duration:
		return "-" + f.Name + " TIME"
	case Choice:
		return "-" + f.Name + "=" + strings.Join(f.Choices, "|")
	case Text:
		return "-" + f.Name + " " + f.Arg
	}
	return "-" + f.Name
}
