package magics

import (
	"context"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/repl/display"
)

func editMagic() *Magic {
	return &Magic{
		Name: "edit", Family: "Files and history", Session: true, Args: "[CELL|NAME]", Takes: TakesNames,
		Summary: "open a cell in $VISUAL or $EDITOR, and put what becomes of it at the prompt",
		Help:    "The last cell, the one with a number, or the declaration of a function or type. Without a terminal it is shown.",
		Example: "%edit\n%edit 3\n%edit area",
		run:     editCell,
	}
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
	for _, cell := range c.s.History() {
		if cell.N == n {
			return editable(cell.Source), nil
		}
	}
	return nil, c.errorf("there is no cell %d", n)
}

// lastCell returns the newest cell with code, not only commands about the session. It may have failed.
func (c *call) lastCell() (display.Value, error) {
	cells := c.s.History()
	for i := len(cells) - 1; i >= 0; i-- {
		cells[i].Err = false
		if source := saved(cells[i]); source != "" {
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
	for _, cell := range c.s.History() { // a variable: the cell that made it
		if cell.N == info.Cell {
			return editable(cell.Source), nil
		}
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
