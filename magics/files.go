package magics

import (
	"cmp"
	"context"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/script/gofile"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
)

func fileMagics() []*Magic {
	return []*Magic{{
		Name: "run", Family: "Files and history", Args: "FILE.mcs", needs: "file", Session: true, Takes: TakesFiles,
		Summary: "run a file's cells in this session",
		Help:    "The names that it declares stay. The first cell that fails ends it.",
		Example: "%run setup.mcs",
		run:     runFile,
	}, {
		Name: "load", Family: "Files and history", Args: "FILE.mcs", needs: "file", Session: true, Takes: TakesFiles,
		Summary: "show a file's cells and put them into the history, ready to be edited and run",
		Help:    "The file must be text. Of a long one the first 200 lines are shown; the history has all cells.",
		Example: "%load lora.mcs",
		run:     loadFile,
	}, {
		Name: "save", Family: "Files and history", Args: "FILE [CELLS]", needs: "file", Session: true, Takes: TakesFiles,
		Flags:   []Flag{{Name: "f", Help: "replace a file that exists"}},
		Summary: "write the session's cells to a .mcs, .ipynb, .html, .md or .go file",
		Help: "Cells that failed are left out, and so are %save, %load, %run, %edit, %history and %help. CELLS are numbers and ranges.\n" +
			"A program has what the session does unasked written out: imports, checks of errors, printing; commands become comments.\n" +
			"If cells import modules, %get lines get the versions that were used, and a program a go.mod and a go.sum beside it.",
		Example: "%save lora.mcs\n%save -f lora.mcs 1-4 7\n%save lora.go",
		run:     saveFile,
	}, {
		Name: "history", Family: "Files and history", Session: true, Args: "[CELLS]",
		Flags:   []Flag{{Name: "n", Kind: Integer, Help: "only the last N cells"}},
		Summary: "show the cells so far",
		Example: "%history\n%history 2-5\n%history -n 3",
		run:     showHistory,
	}, {
		Name: "edit", Family: "Files and history", Session: true, Args: "[CELL|NAME]", Takes: TakesNames,
		Summary: "open a cell in $VISUAL or $EDITOR, and put what becomes of it at the prompt",
		Help:    "The last cell, the one with a number, or the declaration of a function or type. Without a terminal it is shown.",
		Example: "%edit\n%edit 3\n%edit area",
		run:     editCell,
	}}
}

// path makes a file name of a command relative to the session's folder.
func (c *call) path(name string) string {
	if filepath.IsAbs(name) || c.s.Dir() == "" {
		return name
	}
	return filepath.Join(c.s.Dir(), name)
}

func (c *call) readFile() (*mcsfile.File, error) {
	f, err := notebook.Read(c.path(c.rest), c.rest)
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	return f, nil
}

// running is the key of the names of the files that a context runs, one within the other.
type running struct{}

func runFile(ctx context.Context, c *call) (display.Value, error) {
	f, err := c.readFile()
	if err != nil {
		return nil, err
	}
	outer, _ := ctx.Value(running{}).([]string)
	path := c.path(f.Name)
	if slices.Contains(outer, path) {
		return nil, c.errorf("%s runs itself", f.Name)
	}
	ctx = context.WithValue(ctx, running{}, append(slices.Clip(outer), path))
	var shown values
	for _, cell := range f.Code() {
		r := c.s.Run(ctx, cell.Source)
		shown = append(shown, r.Shown...)
		if r.Err != nil {
			return shown.value(), fmt.Errorf("%s: %w", f.At(cell.Line), r.Err)
		}
	}
	return shown.value(), nil
}

// values are shown one below the other.
type values []display.Value

func (v values) value() display.Value {
	if len(v) == 0 {
		return nil
	}
	return v
}

// Values are the parts, for a front end that shows some of them in its own way.
func (v values) Values() []display.Value { return v }

func (v values) Text(width int) string { return v.StyledText(width, nil) }

func (v values) StyledText(width int, style display.Style) string {
	texts := make([]string, len(v))
	for i, each := range v {
		texts[i] = display.Styled(each, width, style)
	}
	return strings.Join(texts, "\n")
}

func loadFile(_ context.Context, c *call) (display.Value, error) {
	f, err := c.readFile()
	if err != nil {
		return nil, err
	}
	var l loaded
	for _, cell := range f.Code() {
		l = append(l, cell.Source)
	}
	if len(l) == 0 {
		return nil, c.errorf("%s has no cells", f.Name)
	}
	return l, nil
}

// loaded are cells from a file.
type loaded []string

// shownLines is the number of lines that %load shows: the cells are in the history, where they can be read
// and edited.
const shownLines = 200

func (l loaded) Text(width int) string { return l.StyledText(width, nil) }

// StyledText is the cells as code.
func (l loaded) StyledText(_ int, style display.Style) string {
	lines := strings.Split(strings.Join(l, "\n\n"), "\n")
	if left := len(lines) - shownLines; left > 0 {
		shown := style.Paint(display.Code, strings.Join(lines[:shownLines], "\n"))
		return shown + "\n" + style.Paint(display.Dim, fmt.Sprintf("… %s more; all %s are in the history", units.Plural(int64(left), "line"), units.Plural(int64(len(l)), "cell")))
	}
	return style.Paint(display.Code, strings.Join(lines, "\n"))
}

// Preload returns the cells for a front end that has a history to put them into.
func (l loaded) Preload() []string { return l }

func saveFile(ctx context.Context, c *call) (display.Value, error) {
	words := c.words()
	wanted, err := parseRanges(words[1:])
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	var cells []string
	for _, cell := range c.s.History() {
		if source := pinned(saved(cell), c.s.Modules()); source != "" && wanted(cell.N) {
			cells = append(cells, source)
		}
	}
	if len(cells) == 0 {
		return nil, c.errorf("there is no cell to save")
	}
	text, err := fileText(words[0], cells, c.s.Importer())
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	path := c.path(words[0])
	if _, err := os.Lstat(path); err == nil && !c.on("f") {
		return nil, c.errorf("%s exists; -f replaces it", path)
	}
	if err := durable.WriteFile(path, durable.Text(text)); err != nil {
		return nil, c.errorf("%w", err)
	}
	said := words[0] + ": " + units.Plural(int64(len(cells)), "cell")
	if filepath.Ext(words[0]) == ".go" && len(c.s.Modules()) > 0 {
		needs, err := c.saveGoMod(ctx, path)
		if err != nil {
			return nil, c.errorf("%w", err)
		}
		said += "; " + needs
	}
	return display.Text(said), nil
}

// fileText returns the text of a file with this name for the cells, which import what im has.
func fileText(name string, cells []string, im types.Importer) (string, error) {
	if filepath.Ext(name) == ".go" {
		return gofile.ProgramWith(cells, im)
	}
	list := make([]mcsfile.Cell, len(cells))
	for i, source := range cells {
		list[i].Source = source
	}
	return notebook.Text(mcsfile.Parse(name, mcsfile.Format(list)), name)
}

// saved returns the text of a cell for a file: nothing for a cell that failed, and no commands about the
// session itself.
func saved(c session.Cell) string {
	if c.Err {
		return ""
	}
	return withCommands(c.Source, func(m *Magic, text string) string {
		if m.Session {
			return ""
		}
		return text
	})
}

// Again returns the text of a cell for running it in another session. Commands about the session as such are
// left out, and a value that was stored is brought back.
func Again(source string) string {
	return withCommands(source, func(m *Magic, text string) string {
		switch {
		case m.Name == "store":
			return storedAgain(text)
		case m.Session && m.Name != "run":
			return ""
		}
		return text
	})
}

// Stored returns the commands of a cell of Again that bring stored values back.
func Stored(source string) (lines []string) {
	withCommands(source, func(m *Magic, text string) string {
		if m.Name == "store" {
			lines = append(lines, text)
		}
		return text
	})
	slices.Reverse(lines)
	return lines
}

// withCommands returns the text of a cell with each command line rewritten; one that becomes empty goes with
// its line.
func withCommands(source string, rewrite func(m *Magic, text string) string) string {
	for _, piece := range slices.Backward(cell.Split(source)) {
		if piece.Kind != cell.Command {
			continue
		}
		text := piece.Text(source)
		name, _, _ := cell.ParseCommand(text)
		if text = rewrite(cmp.Or(Lookup(name), &Magic{Name: name}), text); text != "" {
			source = source[:piece.From] + text + source[piece.To:]
			continue
		}
		from := strings.LastIndexByte(source[:piece.From], '\n') + 1
		_, after, _ := strings.Cut(source[piece.To:], "\n")
		source = source[:from] + after
	}
	return strings.TrimSpace(source)
}

func showHistory(_ context.Context, c *call) (display.Value, error) {
	wanted, err := parseRanges(c.words())
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	cells := c.s.History()
	if n := c.number("n"); n > 0 && n < len(cells) {
		cells = cells[len(cells)-n:]
	}
	var h history
	for _, cell := range cells {
		if wanted(cell.N) {
			h = append(h, cell)
		}
	}
	if len(h) == 0 && len(c.words()) > 0 {
		return nil, c.errorf("there is no cell %s", strings.Join(c.words(), " "))
	}
	return h, nil
}

// history is a list of cells.
type history []session.Cell

func (h history) Text(width int) string { return h.StyledText(width, nil) }

func (h history) StyledText(_ int, style display.Style) string {
	var b strings.Builder
	for i, cell := range h {
		if i > 0 {
			b.WriteByte('\n')
		}
		number := fmt.Sprintf("%3d: ", cell.N)
		role := display.Code
		if cell.Err {
			role = display.Dim
		}
		source := style.Paint(role, cell.Source)
		b.WriteString(style.Paint(display.Dim, number) + strings.ReplaceAll(source, "\n", "\n"+strings.Repeat(" ", len(number))))
	}
	return b.String()
}

func editCell(_ context.Context, c *call) (display.Value, error) {
	words := c.words()
	if len(words) > 1 {
		return nil, c.errorf("got %d words, want a cell's number or a name", len(words))
	}
	if len(words) == 0 {
		return c.lastCell()
	}
	n, err := strconv.Atoi(words[0])
	if err != nil {
		return c.declaration(words[0])
	}
	if source := c.cellText(n); source != "" {
		return editable(source), nil
	}
	return nil, c.errorf("there is no cell %d", n)
}

// lastCell returns the newest cell with code, not only commands about the session. It may have failed.
func (c *call) lastCell() (display.Value, error) {
	for _, cell := range slices.Backward(c.s.History()) {
		cell.Err = false
		if source := saved(cell); source != "" {
			return editable(source), nil
		}
	}
	return nil, c.errorf("there is no cell yet")
}

func (c *call) declaration(name string) (display.Value, error) {
	info, err := c.s.Inspect(name)
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	if info.Cell == 0 {
		return nil, c.errorf("%s is not declared in a cell", name)
	}
	if info.Source != "" {
		return editable(info.Source), nil
	}
	if source := c.cellText(info.Cell); source != "" { // a variable: the cell that made it
		return editable(source), nil
	}
	return nil, c.errorf("the cell that declares %s is not in the history", name)
}

// editable is the text of a cell that is to be edited.
type editable string

func (e editable) Text(width int) string { return e.StyledText(width, nil) }

// StyledText is the cell as code.
func (e editable) StyledText(_ int, style display.Style) string {
	return style.Paint(display.Code, strings.TrimRight(string(e), "\n"))
}

// Edit returns the text for a front end that can edit it.
func (e editable) Edit() string { return string(e) }
