package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/journal"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/repl/term"
)

// A journaled session keeps its cells in a journal.
type journaled struct {
	*session.Session
	journal *journal.Journal
	outside effects
}

func (s *journaled) Run(ctx context.Context, text string) session.Result {
	if s.journal == nil {
		return s.Session.Run(ctx, text)
	}
	s.journal.Begin(s.Next(), text)
	r := s.Session.Run(ctx, text)
	for _, v := range r.Shown {
		if v != nil {
			fmt.Fprintln(s.journal, v.Text(80))
		}
	}
	how := journal.End{Failed: r.Err != nil, Interrupted: errors.Is(r.Err, session.ErrInterrupted), Outside: r.Outside}
	for _, c := range s.Since(r.N) { // it, and those of files that it runs
		how.Outside = s.outside.in(c.Source) || how.Outside
	}
	s.journal.End(r.Elapsed, how)
	return r
}

// offer returns a line about the newest session that was cut off, or "".
func offer(dir string) string {
	left := journal.Newest(dir)
	if left == nil {
		return ""
	}
	defer left.Release()
	cells, err := left.Read()
	if err != nil || len(cells) == 0 {
		return ""
	}
	return fmt.Sprintf("a session of %s was cut off (%s): mcs --resume brings it back", left.When.Format("Jan 2 15:04"), units.Plural(int64(len(cells)), "cell"))
}

// cheap is how long a cell may have taken to be run again unasked.
const cheap = time.Second

// resumed runs the cells of a session that was cut off: definitions and cheap ones, and those that read
// files. It tells the reason of each other. Those that had run stay in the journal, and are returned.
func resumed(entries []journal.Entry, kept *journal.Journal, run func(cell string) session.Result, tell func(step term.Step)) (rest []term.Step) {
	stopped := false
	for _, e := range entries {
		reason := ""
		text := magics.Again(e.Cell)
		switch {
		case e.Cell == "":
			reason = "It was not kept: it looked as if it held a secret."
		case text == "":
			continue
		case !e.Ended:
			reason = "The process ended in it."
		case e.Interrupted:
			reason = "It was interrupted."
		case e.Failed:
			reason = "It failed."
		case e.Outside:
			reason = "It changes files, or runs a command of the system."
		case e.Took > cheap && !declares(text) && !loads(text):
			reason = fmt.Sprintf("It took %s.", units.Duration(e.Took))
		case stopped:
			reason = "It was not reached."
		default:
			r := run(text)
			if r.Err == nil {
				continue
			}
			reason, stopped = "It fails now.", r.Err == session.ErrInterrupted
		}
		if e.Ended && !e.Failed && !stopped {
			for _, line := range magics.Stored(text) { // it had run, so there is a value
				run(line)
			}
		}
		step := term.Step{Prose: fmt.Sprintf("In[%d]: %s%s", e.N, reason, printed(e.Out)), Title: fmt.Sprintf("In[%d]", e.N), Text: cmp.Or(e.Cell, "// In["+strconv.Itoa(e.N)+"]")}
		tell(step)
		if !e.Failed {
			kept.Keep(e)
			rest = append(rest, step)
		}
	}
	return rest
}

// printed is the end of what a cell has printed.
func printed(out string) string {
	out = strings.TrimSpace(visible.Text(out))
	if out == "" {
		return ""
	}
	const most = 8
	lines := strings.Split(out, "\n")
	if n := len(lines) - most; n > 0 {
		lines = append([]string{"…"}, lines[n:]...)
	}
	return " It printed:\n\n    " + strings.Join(lines, "\n    ")
}

// changes matches a call that changes what another process sees: files, the network, a process itself.
var changes = lazy.Regexp(`\b(os\.(Create|WriteFile|OpenFile|Remove|Rename|Mkdir|Truncate|Link|Symlink|Chmod|Chtimes|CopyFS)|` +
	`exec\.Command|http\.Post|http\.NewRequest|net\.(Dial|Listen)|syscall\.)|\.(Save|WriteFile)[A-Za-z]*\(`)

// function matches the head of a function or method.
var function = lazy.Regexp(`(?m)^func\s*(?:\([^)]*\)\s*)?([\pL_][\pL_\d]*)`)

// effects are the functions of cells that change what is outside of the session.
type effects []string

// in says whether Go of a cell changes what is outside of the session: by itself, or by a function of an
// earlier cell. Functions that it declares and that would are remembered.
func (e *effects) in(text string) bool {
	found := false
	for _, piece := range cell.Split(text) {
		line := piece.Text(text)
		at := func(name string) bool { return strings.Contains(line, name+"(") }
		does := changes().MatchString(line) || slices.ContainsFunc(*e, at)
		switch {
		case piece.Kind == cell.Declaration:
			if m := function().FindStringSubmatch(line); does && m != nil {
				*e = append(*e, m[1])
			}
		case does:
			found = true
		}
	}
	return found
}

// declares says whether a cell only declares functions, types, constants and imports.
func declares(text string) bool {
	return !slices.ContainsFunc(cell.Split(text), func(p cell.Piece) bool {
		return p.Kind != cell.Declaration && p.Kind != cell.Import
	})
}

// reads matches a call that gets a value out of a file.
var reads = lazy.Regexp(`\.(Load|Open|Read)[A-Za-z]*\(`)

// loads says whether a cell reads files, and trains nothing.
func loads(text string) bool { return reads().MatchString(text) && !trains().MatchString(text) }

// trains matches a call that trains.
var trains = lazy.Regexp(`\btrain\.|\.Step\(`)
