// Command mcs is a notebook in a terminal for experiments with tensors, LoRA and training.
//
// This package only connects others: cobra's commands with packages term and script, and both with a
// session and its magics.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/term"
)

// Exit codes: 0 all is well, 1 a cell failed or output differs, 2 the command line is wrong or a file cannot
// be read.
const (
	exitFailed = 1
	exitUsage  = 2
	// exitInterrupted is a shell's exit code for a process that SIGINT has ended.
	exitInterrupted = 130
)

func main() {
	code := run(os.Args[1:])
	durable.Finish() // a run of training that was left behind may be saving
	ranks.Exit(code)
}

func run(args []string) int {
	root := rootCommand()
	root.SetArgs(dashes(root, args))
	err := root.ExecuteContext(context.Background())
	if code, ok := errors.AsType[exitCode](err); ok || err == nil {
		return int(code)
	}
	fmt.Fprintln(os.Stderr, "mcs:", visible.Text(err.Error()))
	return exitUsage
}

// dashes gives arguments that are flags with a name two dashes if they have one, because both are usual, and
// the commands of the notebook have one: -device ref, --device ref. Arguments from a Go file on belong to the
// program.
func dashes(root *cobra.Command, args []string) (list []string) {
	known := map[string]bool{}
	for _, cmd := range append(root.Commands(), root) {
		note := func(f *pflag.Flag) { known[f.Name] = true }
		cmd.Flags().VisitAll(note)
		cmd.PersistentFlags().VisitAll(note)
	}
	for i, arg := range args {
		if arg == "--" {
			return append(list, args[i:]...)
		}
		if filepath.Ext(arg) == ".go" && slices.Contains(list, "run") {
			return append(append(list, "--"), args[i:]...)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && known[name] {
			arg = "-" + arg
		}
		list = append(list, arg)
	}
	return list
}

// exitCode is an error that was reported already.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

func rootCommand() *cobra.Command {
	name, threads, lines, kept := "", 0, []string(nil), keeping{}
	root := &cobra.Command{
		Use:   "mcs [FILE.mcs | FILE.ipynb]",
		Short: "A notebook in a terminal for experiments with tensors, LoRA and training",
		Long: `mcs is a notebook in a terminal: you type Go, the tensor engine is already there.

Without arguments it opens the notebook, or runs standard input if that is not a terminal. With -e it runs a cell;
of a cell on the command line or on standard input, each expression's value is shown. With a file it opens the
notebook and steps through the file's cells. In the notebook %help lists the commands.`,
		Example:       "  mcs\n  mcs lora.mcs\n  mcs -e 'tensor.Range(6).Reshape(2, 3)'\n  mcs run lora.mcs -p steps=50\n  mcs test -u lora.mcs",
		Args:          notebookArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case threads != 0 && name != "":
				return fmt.Errorf("got --device %s and --threads %d, want one of them: --threads N is --device cpu:N", name, threads)
			case threads != 0:
				name = fmt.Sprintf("cpu:%d", threads)
			}
			if name == "" || cmd.Flag("ranks") != nil { // each rank chooses among the devices of that name
				return nil
			}
			return device.Use(name)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("eval") {
				if len(args) > 0 {
					return fmt.Errorf("got -e and %s, want one of them", args[0])
				}
				return runAlone(cmd.Context(), mcsfile.Parse(commandLine, strings.Join(lines, "\n")))
			}
			if kept.resume && (len(args) > 0 || !term.IsTerminal()) {
				return errors.New("--resume: takes no file and no other input than a terminal's")
			}
			if len(args) == 0 && !term.IsTerminal() {
				f, err := readFile("-")
				if err != nil {
					return err
				}
				return runAlone(cmd.Context(), f)
			}
			return openNotebook(cmd.Context(), args, kept)
		},
	}
	root.PersistentFlags().StringVar(&name, "device", "", "compute on the device `NAME`, as %device NAME does; the default is the fastest that is there")
	root.PersistentFlags().IntVar(&threads, "threads", 0, "compute with `N` threads: --device cpu:N; 0 are all")
	root.Flags().StringArrayVarP(&lines, "eval", "e", nil, "run the cell `GO`, and show the value of each line that is an expression; can be repeated for more lines")
	root.Flags().BoolVar(&kept.resume, "resume", false, "run the cells again of the newest notebook that was cut off: definitions, what took less than a second, and what reads files")
	root.Flags().BoolVar(&kept.none, "no-journal", false, "keep nothing of this notebook for --resume")
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(runCommand(), testCommand(), trainCommand(), chatCommand(), generateCommand(), serveCommand(), evalCommand(), fuseCommand(), quantizeCommand(),
		fmtCommand(), convertCommand(), buildCommand(), jupyterCommand(), webCommand(), learnCommand(), gradeCommand(), presentCommand(), rankCommand(), versionCommand())
	return root
}

// ofCommand puts the name of a command before its error, if it has one.
func ofCommand(command string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", command, err)
}

func notebookArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 1 && !isCells(args[0]):
		return fmt.Errorf("%s is neither a command nor a .mcs or .ipynb file; mcs help lists the commands", args[0])
	case len(args) > 1:
		return fmt.Errorf("got %d files, the notebook takes one; mcs test takes several", len(args))
	}
	return nil
}

func runCommand() *cobra.Command {
	var o jobOptions
	cmd := &cobra.Command{
		Use:   "run FILE.mcs | FILE.ipynb | FILE.go… [ARGUMENT…]",
		Short: "Run a file's cells, or a Go program",
		Long: `run runs a file's cells and prints what they put out; - is standard input. Files that end in .go are run as one
Go program (package main), as go run does; what follows them are the program's arguments.

With lists of values, -p lr=1e-3,1e-4 -p rank=4,8, the file is run with every combination, each in a process of its own,
and a table at the end has the last value that each has shown.

With -n 2, or under torchrun, mpiexec or srun, several processes run the file. ranks.Here() is their group, with which
train.Options{Ranks: ranks.Here()} shares the batches of a step. What rank 0 puts out is shown; of the others what
differs from it, after "rank 1: ". A cell that fails on one of them ends all.`,
		Example: "  mcs run lora.mcs -p steps=50 -p text=.\n  mcs run lora.mcs -p lr=1e-3,1e-4 -p rank=4,8\n  mcs run lora.mcs -o report.html\n  mcs run -n 2 lora.mcs\n  echo 'tensor.Randn(2, 3)' | mcs run -\n  mcs run main.go util.go",
		Args:    runArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if filepath.Ext(args[0]) == ".go" {
				if o.ranks != 1 {
					return fmt.Errorf("run: got -n %d and a Go program, want a .mcs or .ipynb file: a program starts others by ranks.Start", o.ranks)
				}
				if name := cmd.Flag("device").Value.String(); name != "" {
					if err := device.Use(name); err != nil {
						return err
					}
				}
				return runProgram(cmd.Context(), args)
			}
			if o.output != "" && !slices.Contains([]string{".html", ".md", notebook.Extension}, filepath.Ext(o.output)) { // before anything runs
				return fmt.Errorf("run: -o: got %s, want a name that ends in .html, .md or %s", o.output, notebook.Extension)
			}
			return runAll(cmd, args[0], o)
		},
	}
	o.flags(cmd, "run `N` combinations at a time")
	cmd.Flags().IntVarP(&o.ranks, "ranks", "n", 1, "run the file in `N` processes of this machine at once, each on a device of its own: ranks.Here() is their group")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write what the cells show to `FILE`, too: a page (.html), a notebook (.ipynb) or Markdown (.md)")
	return cmd
}

func runArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 && filepath.Ext(args[0]) == ".go" {
		return nil
	}
	if len(args) != 1 {
		return fmt.Errorf("run: got %d files, takes one", len(args))
	}
	if args[0] != "-" && !isCells(args[0]) {
		return fmt.Errorf("run: got %s, want a .mcs, .ipynb or .go file, or - for standard input", args[0])
	}
	return nil
}

// exactly refuses any other number of arguments than n, and shows how the command is called.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		root, usage := cmd.Root().Name()+" ", strings.TrimSuffix(cmd.UseLine(), " [flags]")
		return fmt.Errorf("%s: got %s, takes %d: %s", strings.TrimPrefix(cmd.CommandPath(), root), units.Plural(int64(len(args)), "argument"), n, usage)
	}
}

func testCommand() *cobra.Command {
	var o testOptions
	cmd := &cobra.Command{
		Use:     "test FILE.mcs… | FILE.ipynb…",
		Short:   "Run files and compare their output with what they expect",
		Example: "  mcs test examples/*.mcs\n  mcs test -run 'softmax|merge' -junit report.xml examples/*.mcs\n  mcs test -u lora.mcs",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("test: got no files")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return testAll(cmd, args, o)
		},
	}
	o.flags(cmd, "test `N` files at a time; times that they measure are then those of a busy machine")
	cmd.Flags().StringVar(&o.only, "run", "", "test the files whose names match `REGEXP`, and of other files the cells whose titles do")
	cmd.Flags().StringVar(&o.junit, "junit", "", "write the results to `FILE` as JUnit's XML, too")
	cmd.Flags().DurationVar(&o.limit, "timeout", 0, "stop a cell that runs longer than `TIME`, as an error of its file; 0 is no limit")
	cmd.Flags().BoolVarP(&o.update, "update", "u", false, "rewrite expected output that does not match, keep matchers that do")
	return cmd
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactly(0),
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Println(versionText())
		},
	}
}
