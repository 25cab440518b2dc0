package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/repl/term"
	"github.com/mcs-notebook/mcs/repl/web"
)

func presentCommand() *cobra.Command {
	port, page, replay := 0, false, false
	cmd := &cobra.Command{
		Use:   "present FILE.mcs | FILE.ipynb",
		Short: "Give a talk: one cell a screen, and the speaker's notes on a second one",
		Long: `present shows a file's cells one at a time, in the terminal or with --web in a browser, and prints the address of the
speaker's page: the cell, the next one, the notes, the clock. What one screen does all of them show. Each cell is a
slide; a cell of Go has the newest heading above it. Cells of Markdown with the title notes are the speaker's:

  // %% [markdown] notes
  // Ask who has seen this loss before.

Nothing runs before Enter runs it, and the file stays as it is. Keys: → or Space, ←, Home, End, 7 Enter for the slide 7;
Enter runs the cell, Ctrl-C (i in a browser) stops it, ↑ ↓ scroll, e edits the cell, b blanks the screens, q leaves.

With --replay nothing runs: Enter shows at once what the cells have put out when mcs run FILE.mcs -o FILE.ipynb recorded
them, and a line on all screens says when that was and on which device.`,
		Example: "  mcs run lora.mcs -o lora.ipynb\n  mcs present lora.mcs\n  mcs present --web --port 8888 lora.mcs\n  mcs present --replay lora.ipynb",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !isCells(args[0]) {
				return fmt.Errorf("present: got %s, want a .mcs or .ipynb file", args[0])
			}
			if _, err := os.Stat(args[0]); err != nil { // which the server would begin
				return fmt.Errorf("present: %w", err)
			}
			o := web.Options{Path: args[0], Port: port, Log: os.Stdout, Present: true, Replay: replay}
			if !page {
				if err := term.CanPresent(); err != nil {
					return fmt.Errorf("present: %w", err)
				}
				o.Log, o.Screen = io.Discard, term.Present
			}
			return ofCommand("present", servePage(cmd.Context(), o))
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "listen on port `N`; 0 is a free one")
	cmd.Flags().BoolVar(&page, "web", false, "show the talk in a browser, not in the terminal")
	cmd.Flags().BoolVar(&replay, "replay", false, "show the outputs that the notebook of this name has recorded; nothing runs")
	return cmd
}
