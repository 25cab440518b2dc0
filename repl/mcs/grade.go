package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/grade"
)

// gradeOptions are the flags of `mcs grade`.
type gradeOptions struct {
	lesson            string
	csv, junit, pages string // what is written; "": nothing
	memory            string
	work              bool // this process is one that another has started
	grade.Options
}

func gradeCommand() *cobra.Command {
	var o gradeOptions
	cmd := &cobra.Command{
		Use:   "grade FOLDER --lesson LESSON.mcs",
		Short: "Grade what learners have handed in for a lesson",
		Long: `grade runs each learner's file against the checks of the lesson's key, which lies beside the lesson, and prints a table
with the points. FOLDER has files NAME.mcs or NAME.ipynb, or folders NAME with a file named as the lesson is.

Each file runs in a process and a folder of its own, with the lesson's data. A cell or a check that fails, hangs or ends
the process costs only itself. Cells reach neither the network nor other programs; what this guards and what not is in
SECURITY.md.`,
		Example: "  mcs grade handed-in --lesson lessons/01-tensors.mcs\n  mcs grade handed-in --lesson lessons/01-tensors.mcs -j 4 --csv points.csv --pages pages",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.work {
				return nil
			}
			return exactly(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.work {
				return grade.Work(cmd.Context(), os.Stdin, os.Stdout, openSession)
			}
			return o.run(cmd, args[0])
		},
	}
	cmd.Flags().StringVar(&o.lesson, "lesson", "", "the lesson `FILE.mcs`, with its key beside it")
	cmd.Flags().StringVar(&o.csv, "csv", "", "write the points to `FILE`, too")
	cmd.Flags().StringVar(&o.junit, "junit", "", "write the results to `FILE` as JUnit's XML, too")
	cmd.Flags().StringVar(&o.pages, "pages", "", "write a page for each learner, with cells, outputs and what the checks say, into `FOLDER`")
	cmd.Flags().DurationVar(&o.Time, "time", time.Minute, "end a file after `TIME`, and each of its cells and checks after a quarter of it")
	cmd.Flags().StringVar(&o.memory, "memory", "2GiB", "end a cell that holds more than `SIZE`")
	cmd.Flags().IntVarP(&o.Jobs, "jobs", "j", 1, "grade `N` files at a time")
	cmd.Flags().BoolVar(&o.work, "work", false, "be one of the processes")
	_ = cmd.Flags().MarkHidden("work") // it exists
	return cmd
}

// run is `mcs grade`.
func (o *gradeOptions) run(cmd *cobra.Command, dir string) (err error) {
	switch {
	case o.lesson == "":
		return errors.New("grade: got no --lesson, want the lesson's file, which has its key beside it")
	case o.Jobs < 1:
		return fmt.Errorf("grade: got -j %d, want how many files run at a time, at least 1", o.Jobs)
	case o.Time < time.Second:
		return fmt.Errorf("grade: got --time %v, want at least 1s", o.Time)
	}
	if o.Memory, err = units.ParseBytes(o.memory); err != nil || o.Memory < 256<<20 {
		return fmt.Errorf("grade: got --memory %s, want at least 256MiB", o.memory)
	}
	if o.Command, err = o.command(cmd); err != nil {
		return err
	}
	hands, err := grade.Hands(dir, o.lesson)
	if err != nil {
		return fmt.Errorf("grade: %w", err)
	}
	if o.Pages = o.pages != ""; o.Pages {
		if err := os.MkdirAll(o.pages, 0o755); err != nil {
			return fmt.Errorf("grade: --pages: %w", err)
		}
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	_, progress := streams()
	start, done, failed := time.Now(), 0, error(nil)
	o.Done = func(r *grade.Report) {
		done++
		progress.Update("grading", int64(done), int64(len(hands)), visible.Line(r.Learner), time.Since(start))
		if !o.Pages {
			return
		}
		if err := durable.WriteFile(filepath.Join(o.pages, r.Learner+".html"), durable.Text(r.Page())); err != nil && failed == nil {
			failed = fmt.Errorf("grade: --pages: %w", err)
		}
	}
	reports, err := grade.Grade(ctx, o.lesson, hands, o.Options)
	progress.Finish()
	code, stopped := stoppedBy(ctx)
	if err != nil && !stopped {
		return fmt.Errorf("grade: %w", err)
	}
	fmt.Println(grade.Table(reports).Text(columns(os.Stdout)))
	if err := errors.Join(failed, o.write(reports)); err != nil {
		return err
	}
	if stopped {
		fmt.Printf("stopped after %d of %d files\n", len(reports), len(hands))
		return code
	}
	return nil
}

// command makes the commands of processes: this program, on the device that this process was told. Several
// processes share the processors.
func (o *gradeOptions) command(cmd *cobra.Command) (func() *exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"grade", "--work"}
	for _, name := range []string{"device", "threads"} {
		if f := cmd.Flag(name); f.Changed {
			args = append(args, "--"+name+"="+f.Value.String())
		}
	}
	if len(args) == 2 && o.Jobs > 1 {
		args = append(args, fmt.Sprintf("--threads=%d", max(1, runtime.NumCPU()/o.Jobs)))
	}
	return func() *exec.Cmd { return exec.CommandContext(context.Background(), program, args...) }, nil
}

// write writes the files of results.
func (o *gradeOptions) write(reports []*grade.Report) error {
	var failed error
	if o.csv != "" {
		failed = durable.WriteFile(o.csv, durable.Text(string(grade.CSV(reports))))
	}
	if o.junit != "" {
		var suites []junitSuite
		for _, r := range reports {
			suites = append(suites, suiteOf(r))
		}
		failed = errors.Join(failed, writeJUnit(o.junit, suites))
	}
	return ofCommand("grade", failed)
}

// suiteOf is a learner's report for JUnit: a case is an exercise.
func suiteOf(r *grade.Report) junitSuite {
	s := junitSuite{Name: r.Learner, Package: "mcs", Begun: begun(r.Start), Stdout: strings.Join(r.Remarks, "\n")}
	s.Seconds = seconds(r.Took.Seconds())
	for _, m := range r.Marks {
		one := junitCase{Class: r.Learner, Name: m.Exercise, Seconds: seconds(m.Took.Seconds())}
		switch {
		case r.Err != nil:
			s.Errors++
			one.Error = &junitDetail{cell.Line(r.Err.Error(), 1), "error", r.Err.Error()}
		case m.Wrong != "":
			s.Failures++
			one.Failure = &junitDetail{cell.Line(m.Wrong, 1), "check", m.Wrong}
		}
		s.Tests++
		s.Cases = append(s.Cases, one)
	}
	return s
}
