package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"

	"github.com/mcs-notebook/mcs/internal/gomod"
)

// mcsModule is the path of mcs's own module.
const mcsModule = "github.com/mcs-notebook/mcs"

func buildCommand() *cobra.Command {
	var b building
	cmd := &cobra.Command{
		Use:   "build --with MODULE[@VERSION] -o FILE",
		Short: "Make an mcs with packages of other people, or your own, compiled in",
		Long: `build makes another mcs, in which the packages of modules are compiled in: cells import them as they import
those that %get fetches, and they are as fast as the engine. It needs Go.

MODULE is the path of a module, for all its packages, or of one package; VERSION is what %get takes there. A folder,
./mypackage, stands for its package, and for all of the module if its go.mod lies there. What is generic is left out,
and is named; a package in which all is generic stays for %get.`,
		Example: "  mcs build --with gonum.org/v1/gonum@v0.16.0 --with ./mypackage -o mymcs",
		Args:    exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			err := b.run(ctx)
			if code, ok := stoppedBy(ctx); ok {
				return code
			}
			return ofCommand("build", err)
		},
	}
	cmd.Flags().StringArrayVar(&b.with, "with", nil, "compile in `MODULE[@VERSION]`, a package's path, or a folder; can be repeated")
	cmd.Flags().StringVarP(&b.output, "output", "o", "", "write the program to `FILE`")
	cmd.Flags().StringVar(&b.mcs, "mcs", "", "build the mcs whose source is in `FOLDER`; without it the one that runs, or the one around this folder")
	return cmd
}

// A building is one run of mcs build. The program's source is that of mcs, copied into a module of its own
// below mcs's path, which may therefore import mcs's internal packages, with a package of symbol tables that
// stdlib/gen writes.
type building struct {
	with        []string
	output, mcs string

	dir      string // of the module
	mod      *modfile.File
	sums     bytes.Buffer
	gets     []string // for go get
	patterns []string // for go list
}

func (b *building) run(ctx context.Context) (err error) {
	switch {
	case len(b.with) == 0:
		return errors.New("got no --with, want a module: --with gonum.org/v1/gonum, or a folder: --with ./mypackage")
	case b.output == "":
		return errors.New("got no -o, want the name of the program: -o mymcs")
	}
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("it needs Go (https://go.dev/dl), and there is no go command on the path")
	}
	if b.output, err = filepath.Abs(b.output); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "mcs-build-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if err := b.modules(); err != nil {
		return err
	}
	if len(b.gets) > 0 {
		if err := b.goCommand(ctx, "fetching "+strings.Join(b.gets, " "), append([]string{"get"}, b.gets...)...); err != nil {
			return err
		}
	}
	if err := b.copyMain(ctx); err != nil {
		return err
	}
	tables := append([]string{"run", mcsModule + "/stdlib/gen", "-with", "with"}, b.patterns...)
	if err := b.goCommand(ctx, "reading "+strings.Join(b.with, " "), tables...); err != nil {
		return err
	}
	return b.goCommand(ctx, "compiling "+b.output, "build", "-o", b.output, ".")
}

// modules writes the module's go.mod and go.sum.
func (b *building) modules() error {
	b.mod = new(modfile.File)
	_, version, _ := strings.Cut(goVersion(), " ")
	if err := errors.Join(b.mod.AddModuleStmt(mcsModule+"/built"), b.mod.AddGoStmt(version)); err != nil {
		return err
	}
	if err := b.source(); err != nil {
		return err
	}
	for _, arg := range b.with {
		path, version, pinned := strings.Cut(arg, "@")
		switch {
		case !pinned && (build.IsLocalImport(arg) || filepath.IsAbs(arg)):
			if err := b.folder(arg); err != nil {
				return err
			}
		default:
			b.gets = append(b.gets, path+"@"+cmp.Or(version, "latest"))
			b.patterns = append(b.patterns, path) // copyMain makes it all of a module
		}
	}
	text, err := b.mod.Format()
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(b.dir, "go.mod"), text, 0o666), os.WriteFile(filepath.Join(b.dir, "go.sum"), b.sums.Bytes(), 0o666))
}

// source requires mcs: in a folder, or in the version of this program.
func (b *building) source() error {
	dir := b.mcs
	if here, path := gomod.Above("."); dir == "" && path == mcsModule {
		dir = here
	}
	info, _ := debug.ReadBuildInfo()
	version := ""
	if info != nil {
		version = info.Main.Version
		for _, m := range info.Deps { // this program was made by mcs build
			if m.Path != mcsModule {
				continue
			}
			if version = m.Version; m.Replace != nil && dir == "" {
				dir = m.Replace.Path
			}
		}
	}
	if dir != "" {
		if _, path := gomod.Above(dir); path != mcsModule {
			return fmt.Errorf("--mcs %s: it has no go.mod of %s", dir, mcsModule)
		}
		return b.replace(mcsModule, dir)
	}
	if version == "" || version == "(devel)" || strings.Contains(version, "+dirty") {
		return errors.New("this mcs does not know which version it is; --mcs FOLDER names its source")
	}
	b.gets = append(b.gets, mcsModule+"@"+version)
	return nil
}

// folder requires the module of a package in a folder.
func (b *building) folder(arg string) error {
	dir, err := filepath.Abs(arg)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("--with %s: there is no such folder", arg)
	}
	root, path := gomod.Above(dir)
	if root == "" {
		return fmt.Errorf("--with %s: it lies in no module; go mod init NAME makes one there", arg)
	}
	if path == mcsModule {
		return fmt.Errorf("--with %s: it lies in mcs's own module", arg)
	}
	below, err := filepath.Rel(root, dir)
	if err != nil {
		return err
	}
	pattern := path + "/..."
	if below != "." {
		pattern = path + "/" + filepath.ToSlash(below)
	}
	b.patterns = append(b.patterns, pattern)
	return b.replace(path, root)
}

// replace requires a module that lies in a folder, with what its own go.mod replaces.
func (b *building) replace(path, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	own, err := modfile.Parse(filepath.Join(dir, "go.mod"), text, nil)
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	b.sums.Write(sum)
	for _, r := range own.Replace {
		to := r.New.Path
		if r.New.Version == "" && !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		if err := b.mod.AddReplace(r.Old.Path, r.Old.Version, to, r.New.Version); err != nil {
			return err
		}
	}
	return errors.Join(b.mod.AddRequire(path, "v0.0.0"), b.mod.AddReplace(path, "", dir, ""))
}

// copyMain copies this program's own package, has it import the tables, and makes patterns of modules.
func (b *building) copyMain(ctx context.Context) error {
	list := b.command(ctx, "list", "-m", "-f", "{{.Path}}\t{{.Dir}}", "all")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		dirs[path] = dir
	}
	for i, path := range b.patterns {
		if _, module := dirs[path]; module {
			b.patterns[i] += "/..."
		}
	}
	files, err := filepath.Glob(filepath.Join(dirs[mcsModule], "repl", "mcs", "*.go"))
	if err != nil || len(files) == 0 {
		return errors.Join(err, fmt.Errorf("%s has no repl/mcs", dirs[mcsModule]))
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(b.dir, filepath.Base(name)), text, 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(b.dir, "with.go"), []byte("package main\n\nimport _ \""+mcsModule+"/built/with\"\n"), 0o666)
}

// goCommand runs the go command in the module; what it says goes to standard error.
func (b *building) goCommand(ctx context.Context, what string, args ...string) error {
	fmt.Fprintln(os.Stderr, what)
	cmd := b.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", args[0], err)
	}
	return nil
}

func (b *building) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "PWD="+b.dir)
	return cmd
}
