package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/repl/journal"
	"github.com/mcs-notebook/mcs/repl/session"
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
			if err := term.CanPresent(); err != nil && !page {
				return fmt.Errorf("present: %w", err)
			}
			return present(cmd.Context(), args[0], port, page, replay)
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "listen on port `N`; 0 is a free one")
	cmd.Flags().BoolVar(&page, "web", false, "show the talk in a browser, not in the terminal")
	cmd.Flags().BoolVar(&replay, "replay", false, "show the outputs that the notebook of this name has recorded; nothing runs")
	return cmd
}

func present(ctx context.Context, path string, port int, page, replay bool) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	dir, err := journal.Place("web")
	if err != nil {
		return fmt.Errorf("present: %w", err)
	}
	kept := openJournal(os.Stderr)
	defer kept.Remove()
	var s *session.Session
	o := web.Options{Options: runnerOptions(&s, folder(path), kept), Path: path, Dir: dir, Port: port, Log: os.Stdout, Present: true, Replay: replay}
	if !page {
		o.Log = io.Discard
		o.Screen = term.Present
	}
	if err := web.Run(ctx, o); err != nil {
		return fmt.Errorf("present: %w", err)
	}
	return nil
}
