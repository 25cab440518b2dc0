package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/journal"
	"github.com/mcs-notebook/mcs/repl/jupyter"
	"github.com/mcs-notebook/mcs/repl/runner"
	"github.com/mcs-notebook/mcs/repl/session"
)

func jupyterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jupyter",
		Short: "Cells in Jupyter: install the kernel, or run it",
		Long: `jupyter makes mcs a kernel of Jupyter's clients: JupyterLab, VS Code, nbconvert and others. install tells them of it;
they start it by themselves.`,
		Example: "  mcs jupyter install\n  mcs jupyter install --sys-prefix\n  mcs jupyter install --list",
		Args:    exactly(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(jupyterInstall(), jupyterRun())
	return cmd
}

// installing says where a kernel is installed.
type installing struct {
	name, prefix                    string
	user, sysPrefix, listed, remove bool
}

func jupyterInstall() *cobra.Command {
	var o installing
	cmd := &cobra.Command{
		Use:     "install",
		Short:   "Tell Jupyter's clients of this mcs",
		Example: "  mcs jupyter install\n  mcs jupyter install --prefix jupyter\n  mcs jupyter install --remove",
		Args:    exactly(0),
		RunE:    func(*cobra.Command, []string) error { return o.do() },
	}
	cmd.Flags().BoolVar(&o.user, "user", false, "for this user, which is the default")
	cmd.Flags().StringVar(&o.prefix, "prefix", "", "for the clients below `FOLDER`, in its share/jupyter")
	cmd.Flags().BoolVar(&o.sysPrefix, "sys-prefix", false, "for the active virtual or Conda environment")
	cmd.Flags().StringVar(&o.name, "name", jupyter.SpecName, "as the kernel `NAME`")
	cmd.Flags().BoolVar(&o.listed, "list", false, "list the kernels of mcs that clients find")
	cmd.Flags().BoolVar(&o.remove, "remove", false, "remove it from there")
	cmd.MarkFlagsMutuallyExclusive("user", "prefix", "sys-prefix")
	cmd.MarkFlagsMutuallyExclusive("list", "remove")
	return cmd
}

// data is the folder of Jupyter's data that is meant.
func (o installing) data() (string, error) {
	switch {
	case o.prefix != "":
		prefix, err := filepath.Abs(o.prefix)
		return jupyter.PrefixData(prefix), err
	case o.sysPrefix:
		prefix := jupyter.Environment()
		if prefix == "" {
			return "", errors.New("jupyter install: --sys-prefix: no virtual or Conda environment is active; --prefix FOLDER names one")
		}
		return jupyter.PrefixData(prefix), nil
	}
	return jupyter.UserData()
}

func (o installing) do() error {
	if o.listed {
		listKernels()
		return nil
	}
	data, err := o.data()
	if err != nil {
		return err
	}
	if o.remove {
		dir, err := jupyter.Remove(data, o.name)
		if err == nil {
			fmt.Println("removed", visible.Line(dir))
		}
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if dir := filepath.ToSlash(filepath.Dir(program)); strings.Contains(dir, "/go-build") && strings.HasSuffix(dir, "/exe") {
		return errors.New("jupyter install: this program goes when `go run` ends: go install ./repl/mcs, and run that one")
	}
	dir, err := jupyter.Install(data, o.name, program)
	if err == nil {
		fmt.Printf("installed %s: it runs %s\n", visible.Line(dir), visible.Line(program))
	}
	return err
}

func listKernels() {
	list := jupyter.List(jupyter.DataFolders())
	if len(list) == 0 {
		fmt.Println("no kernel of mcs is installed; mcs jupyter install does that")
		return
	}
	t := display.NewTable("kernel", "=folder", "=runs")
	for _, k := range list {
		program := visible.Line(k.Program)
		if k.Missing {
			program += ", which is not there any more"
		}
		t.Add(k.Name, visible.Line(k.Dir), program)
	}
	fmt.Println(t.Text(columns(os.Stdout)))
}

func jupyterRun() *cobra.Command {
	return &cobra.Command{
		Use:   "run CONNECTION",
		Short: "Run the kernel that a client asks for in its connection file",
		Args:  exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := jupyter.ReadConnection(args[0])
			if err == nil {
				var s *session.Session
				o := jupyter.Options{Options: runnerOptions(&s, "", nil), Version: version, Banner: banner(), Log: os.Stderr}
				err = jupyter.Run(cmd.Context(), c, o)
			}
			return ofCommand("jupyter run", err)
		},
	}
}

// runnerOptions are those of a page's session with the magics, which is then in s. Its cells import from the
// folder source, and kept keeps them unless it is nil.
func runnerOptions(s **session.Session, source string, kept *journal.Journal) runner.Options {
	return runner.Options{
		Open: func(o session.Options) (runner.Session, error) {
			o.Source = source
			o.Stdout, o.Stderr = io.MultiWriter(o.Stdout, kept), io.MultiWriter(o.Stderr, kept)
			var err error
			*s, err = openSession(o)
			return &journaled{Session: *s, journal: kept}, err
		},
		Complete: func(cell string, pos int) (int, []session.Completion) { return magics.Table{}.Complete(*s, cell, pos) },
		Inspect:  func(name string, all bool) (display.Value, error) { return magics.Table{}.Inspect(*s, name, all) },
	}
}
