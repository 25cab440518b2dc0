package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// jobOptions are the flags that `mcs run` and `mcs test` share.
type jobOptions struct {
	params   []string
	parallel int
	ranks    int    // processes that run the file together
	output   string // the report that `mcs run` writes, or ""
	record   string // where this process, which is one of several, writes what its cells did
}

func (o *jobOptions) flags(cmd *cobra.Command, jobs string) {
	cmd.Flags().StringArrayVarP(&o.params, "param", "p", nil, "`name=value` for a line name := literal of the file; can be repeated. Values with commas between them are tried in turn")
	cmd.Flags().IntVarP(&o.parallel, "jobs", "j", 1, jobs)
	cmd.Flags().StringVar(&o.record, "record", "", "write what each cell did to `FILE`, for the process that started this one")
	_ = cmd.Flags().MarkHidden("record") // it exists
}

// A job is a file with a combination of parameters, run or tested by a process of its own.
type job struct {
	command, name string
	params        []string
	args          []string // flags for the process

	stdout, stderr bytes.Buffer
	start          time.Time
	took           time.Duration
	err            error
	cells          []cellRecord
	ended          chan struct{}
}

// jobs are all combinations of the files and of the parameters' values.
func (o *jobOptions) jobs(command string, cmd *cobra.Command, names []string) (list []*job, err error) {
	if o.parallel < 1 {
		return nil, fmt.Errorf("%s: got -j %d, want how many run at a time, at least 1", command, o.parallel)
	}
	all, err := mcsfile.Combinations(o.params)
	if err != nil {
		return nil, err
	}
	if len(all) > 1 && slices.Contains(names, "-") {
		return nil, fmt.Errorf("%s: got several values of a parameter for standard input, which can be read once; want a file", command)
	}
	if len(all) > 1 && o.output != "" {
		return nil, fmt.Errorf("%s: got -o %s and several values of a parameter, want one: a report is of one run", command, o.output)
	}
	var args []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"param", "jobs", "junit", "record"}, f.Name) {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	for _, name := range names {
		if len(all) > 1 { // a wrong name is one mistake, not one of each combination
			f, err := readFile(name)
			if err == nil {
				_, err = f.ParseParams(all[0])
			}
			if err != nil {
				return nil, err
			}
		}
		for _, params := range all {
			list = append(list, &job{command: command, name: name, params: params, args: args, ended: make(chan struct{})})
		}
	}
	return list, nil
}

// run runs the jobs, prints what each has printed, in order, and then a table of the combinations.
func (o *jobOptions) run(cmd *cobra.Command, jobs []*job) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mcs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	free := make(chan struct{}, o.parallel)
	go func() {
		for i, j := range jobs { // in this order
			free <- struct{}{}
			go func() {
				j.run(ctx, program, filepath.Join(dir, strconv.Itoa(i)))
				close(j.ended)
				<-free
			}()
		}
	}()
	code := 0
	for i, j := range jobs {
		<-j.ended
		if len(j.params) > 0 && j.command == "run" {
			fmt.Printf("%s%s\n", map[bool]string{true: "\n"}[i > 0], visible.Line(strings.Join(j.params, " ")))
		}
		code = max(code, j.show())
		if code, ok := stoppedBy(ctx); ok {
			return code
		}
	}
	if len(jobs[0].params) > 0 && len(jobs) > 1 {
		fmt.Println()
		fmt.Println(combinations(jobs).Text(columns(os.Stdout)))
	}
	if code != 0 {
		return exitCode(code)
	}
	return nil
}

func (j *job) run(ctx context.Context, program, record string) {
	args := slices.Concat([]string{j.command, "--record=" + record}, j.args)
	for _, p := range j.params {
		name, value, _ := strings.Cut(p, "=")
		if strings.Contains(value, ",") { // one value, not a list
			value = quoteFor(value)
		}
		args = append(args, "--param="+name+"="+value)
	}
	cmd := exec.CommandContext(ctx, program, append(args, "--", j.name)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = durable.LastSave // it may be saving
	cmd.Stdout, cmd.Stderr = &j.stdout, &j.stderr
	if j.name == "-" {
		cmd.Stdin = os.Stdin
	}
	j.start = time.Now()
	j.err = cmd.Run()
	j.took = time.Since(j.start)
	j.cells = readRecord(record)
}

// quoteFor puts quotes around a value that keep it from being a list.
func quoteFor(value string) string {
	for _, q := range []string{`"`, "'", "`"} {
		if !strings.Contains(value, q) {
			return q + value + q
		}
	}
	return value
}

// exit is the exit code of the process, or -1 if it has none because a signal ended it.
func (j *job) exit() int {
	exit := new(exec.ExitError)
	switch {
	case j.err == nil:
		return 0
	case errors.As(j.err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// unreadable says that the process has refused its file or its arguments.
func (j *job) unreadable() bool {
	return j.exit() == exitUsage && bytes.HasPrefix(j.stderr.Bytes(), []byte("mcs: "))
}

// crashed says whether a fault has ended the process. A test that has printed no result for its file was
// ended by a fault, too.
func (j *job) crashed() bool {
	code := j.exit()
	if j.command == "run" {
		return code < 0 || code > 0 && bytes.Contains(j.stderr.Bytes(), []byte("\ngoroutine "))
	}
	return code != 0 && !j.unreadable() && (code != exitFailed || j.stdout.Len() == 0)
}

// show prints what the process printed, and returns the exit code for it.
func (j *job) show() int {
	os.Stdout.Write(j.stdout.Bytes())
	os.Stderr.Write(j.stderr.Bytes())
	switch {
	case j.err == nil:
		return 0
	case j.unreadable():
		return exitUsage
	case j.crashed():
		fmt.Printf("FAIL  %s  ended without a result: %v\n", visible.Line(j.name), j.err)
	}
	return exitFailed
}

// status is a word or two on how the process ended.
func (j *job) status() string {
	switch {
	case j.err == nil:
		return "ok"
	case j.crashed():
		return "crashed: " + j.err.Error()
	case j.command == "test" || j.exit() == exitFailed:
		return "failed"
	}
	return fmt.Sprintf("exit %d", j.exit())
}

// value is the last value that a cell has shown, or the error that ended the run.
func (j *job) value() string {
	text := ""
	for _, c := range j.cells {
		text = cmp.Or(c.Value, text)
		text = cmp.Or(c.Error, text)
	}
	text, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if rest != "" {
		text += " …"
	}
	return text
}

// combinations is the table at the end of a sweep: what was tried, and what came of it.
func combinations(jobs []*job) *display.Table {
	files := slices.ContainsFunc(jobs, func(j *job) bool { return j.name != jobs[0].name })
	var head []string
	if files {
		head = append(head, "file")
	}
	for _, p := range jobs[0].params {
		name, _, _ := strings.Cut(p, "=")
		head = append(head, name)
	}
	t := display.NewTable(append(head, "status", ">time", "last value")...)
	for _, j := range jobs {
		var row []any
		if files {
			row = append(row, visible.Line(j.name))
		}
		for _, p := range j.params {
			_, value, _ := strings.Cut(p, "=")
			row = append(row, visible.Line(value))
		}
		t.Add(append(row, j.status(), units.Duration(j.took), visible.Line(j.value()))...)
	}
	return t
}
