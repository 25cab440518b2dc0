package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/journal"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/repl/web"
)

func webCommand() *cobra.Command {
	port := 0
	cmd := &cobra.Command{
		Use:   "web [FILE.mcs | FILE.ipynb]",
		Short: "The notebook in a browser",
		Long: `web shows the notebook in a browser, on this machine only: it prints an address with a token, which lets the browser
in. Nothing runs before you run it, and FILE is written when you save. Without FILE it begins notebook.mcs, or
notebook-2.mcs if there is one. Ctrl-C ends it; changes that were not saved are kept and come back with the next mcs web.

On another machine, reach it through a tunnel: ssh -L 8888:127.0.0.1:8888 HOST mcs web --port 8888.`,
		Example: "  mcs web lora.mcs\n  mcs web --port 8888 lora.ipynb",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return fmt.Errorf("web: got %d files, takes one", len(args))
			case len(args) == 1 && !isCells(args[0]):
				return fmt.Errorf("web: got %s, want a .mcs or .ipynb file", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path := newName()
			if len(args) == 1 {
				path = args[0]
			}
			return ofCommand("web", servePage(cmd.Context(), web.Options{Path: path, Port: port, Log: os.Stdout}))
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "listen on port `N`; 0 is a free one")
	return cmd
}

// servePage serves a file's page, or a talk of it, until Ctrl-C ends it.
func servePage(ctx context.Context, o web.Options) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	if o.Dir, err = journal.Place("web"); err != nil {
		return err
	}
	kept := openJournal(os.Stderr)
	defer kept.Remove()
	var s *session.Session
	o.Options = runnerOptions(&s, folder(o.Path), kept)
	if !o.Present {
		o.Variables = func() (display.Value, error) { return magics.Table{}.Run(ctx, s, "%whos") }
	}
	return web.Run(ctx, o)
}

// newName is the name of a notebook that does not exist yet.
func newName() string {
	for name, n := "notebook.mcs", 2; ; name, n = fmt.Sprintf("notebook-%d.mcs", n), n+1 {
		if _, err := os.Lstat(name); err != nil {
			return name
		}
	}
}

// openJournal begins a journal for --resume. Without one, which stderr is told, it is nil: a session keeps
// nothing in it.
func openJournal(stderr io.Writer) *journal.Journal {
	dir, err := journal.Place("journals")
	var kept *journal.Journal
	if err == nil {
		kept, err = journal.New(dir, func(err error) { fmt.Fprintln(stderr, visible.Line(err.Error())+"; cells are not kept") })
	}
	if err != nil {
		fmt.Fprintln(stderr, visible.Line(err.Error())+"; a crash will lose the session")
	}
	return kept
}
