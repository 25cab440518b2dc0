package main

import (
	"errors"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/script/tidy"
)

func fmtCommand() *cobra.Command {
	var list, program bool
	cmd := &cobra.Command{
		Use:   "fmt FILE…",
		Short: "Format the Go of .mcs and .go files",
		Long: `fmt formats the Go in the cells of .mcs files as gofmt does, and names the files that it has changed. Commands,
expected output and prose stay as they are. A cell that is not Go is left as it is. - is standard input, which is
formatted to standard output. Files that end in .go are formatted, too.`,
		Example: "  mcs fmt *.mcs\n  mcs fmt -l examples/*.mcs\n  mcs fmt -go lora.mcs > lora.go",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("fmt: got no files")
			}
			if program && len(args) > 1 {
				return fmt.Errorf("fmt -go: got %d files, takes one", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if program {
				return printProgram(args[0])
			}
			changed := false
			for _, name := range args {
				c, err := formatFile(name, list)
				if err != nil {
					return fmt.Errorf("fmt: %w", err)
				}
				changed = changed || c
			}
			if list && changed {
				return exitCode(exitFailed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&list, "list", "l", false, "name the files that are not formatted, change nothing, and end with exit code 1 if there are any")
	cmd.Flags().BoolVar(&program, "go", false, "print the cells as a Go program, with operators and indices of tensors as calls of their methods")
	return cmd
}

// formatFile formats a file, unless it shall only be listed, and says whether its text changes.
func formatFile(name string, list bool) (changed bool, err error) {
	before, after := "", ""
	if filepath.Ext(name) == ".go" {
		if before, err = regular.Text(name, regular.MaxSource); err != nil {
			return false, err
		}
		formatted, err := format.Source([]byte(before))
		if err != nil {
			return false, fmt.Errorf("%s:%w", name, err)
		}
		after = string(formatted)
	} else {
		if filepath.Ext(name) == notebook.Extension {
			return false, fmt.Errorf("got %s, want a .mcs or .go file; mcs convert makes one of a notebook", name)
		}
		f, err := readFile(name)
		if err != nil {
			return false, err
		}
		var left []tidy.Left
		after, left = tidy.File(f)
		for _, l := range left {
			fmt.Fprintf(os.Stderr, "%s:%d: this cell is left as it is: %s\n", visible.Line(f.Name), l.Line, visible.Line(l.Err.Error()))
		}
		if name == "-" {
			_, err := os.Stdout.WriteString(after)
			return false, err
		}
		same, err := f.Same(name)
		if err != nil {
			return false, err
		}
		if !same {
			return false, fmt.Errorf("%s was changed meanwhile: run it again", name)
		}
		if before, err = regular.Text(name, regular.MaxSource); err != nil {
			return false, err
		}
	}
	if after == before || strings.TrimSpace(before) == "" {
		return false, nil
	}
	if !list {
		if err := durable.WriteFile(name, durable.Text(after)); err != nil {
			return false, err
		}
	}
	fmt.Println(visible.Line(name))
	return true, nil
}

// printProgram prints a file's cells as %save FILE.go writes them.
func printProgram(name string) error {
	f, err := readFile(name)
	if err != nil {
		return err
	}
	text, err := notebook.Text(f, ".go")
	if err != nil {
		return fmt.Errorf("fmt: %w", err)
	}
	_, err = os.Stdout.WriteString(text)
	return err
}
