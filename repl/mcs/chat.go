package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/chzyer/readline"
	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/term"
)

func chatCommand() *cobra.Command {
	var f modelFlags
	var s samplingFlags
	system := ""
	cmd := &cobra.Command{
		Use:   "chat MODEL",
		Short: "Talk to a model",
		Long: `chat is a conversation with a model: each line is a message, and the answer appears as it is made. Ctrl-C stops an answer,
which is then no part of the conversation; /clear begins anew; Ctrl-D leaves. Where standard input is no terminal each
of its lines is a message, too, and answers alone go to standard output.

` + aboutModels,
		Example: "  mcs chat Qwen2.5-0.5B-Instruct --temperature 0.7\n  mcs chat Qwen/Qwen2.5-0.5B-Instruct\n" +
			"  echo 'What is a tensor?' | mcs chat Qwen2.5-0.5B-Instruct --adapter tuned/adapter --system 'You are brief.'",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(s.check(), f.check()); err != nil {
				return fmt.Errorf("chat: %w", err)
			}
			return talkTo(cmd.Context(), args[0], system, &f, &s)
		},
	}
	f.add(cmd)
	s.add(cmd)
	cmd.Flags().StringVar(&system, "system", "", "begin with the message `TEXT` of the system")
	return cmd
}

// A conversation is one with a person, or with a script.
type conversation struct {
	model    *llm.Model
	talk     *llm.Talk
	begin    []chat.Message // what /clear leaves
	sampling llm.Sampling
	terminal bool
	stop     atomic.Pointer[context.CancelFunc] // of the answer that is being given
}

// messages are read line by line. The error is io.EOF, or readline.ErrInterrupt.
type messages interface{ Readline() (string, error) }

// lines are messages that nobody edits.
type lines struct{ *bufio.Reader }

func (l lines) Readline() (string, error) {
	line, err := l.ReadString('\n')
	if line != "" {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

func talkTo(ctx context.Context, name, system string, f *modelFlags, s *samplingFlags) error {
	until, stop := interruptible(ctx)
	defer func() { stop() }()
	m, err := f.load(until, name)
	if err != nil {
		return gaveUp(until, err, exitUsage)
	}
	c := &conversation{model: m, talk: m.NewTalk(), sampling: s.sampling(m), terminal: term.IsTerminal()}
	if system != "" {
		c.begin = []chat.Message{{Role: "system", Content: system}}
	}
	c.talk.Messages = c.begin
	if err := c.begins(); err != nil {
		return gaveUp(until, err, exitUsage)
	}
	if !c.terminal {
		return c.run(until, lines{bufio.NewReader(os.Stdin)})
	}
	fmt.Printf("%s\nCtrl-C stops an answer, /clear begins anew, Ctrl-D leaves\n", visible.Text(m.String()))
	var in messages = lines{bufio.NewReader(prompting{os.Stdin})}
	restore := func() {}
	if os.Getenv("TERM") != "dumb" {
		r, err := readline.NewEx(&readline.Config{Prompt: turn, EOFPrompt: "\n"})
		if err != nil {
			return fmt.Errorf("chat: %w", err)
		}
		defer r.Close()
		restore = func() { _ = r.Terminal.ExitRawMode() } // it ends anyway
		in = r
	}
	stop()
	stop = c.listen(restore)
	return c.run(ctx, in)
}

const turn = "> "

// prompting writes the prompt before it reads, and ends its line, where no editor does.
type prompting struct{ io.Reader }

func (p prompting) Read(b []byte) (int, error) {
	fmt.Print(turn)
	n, err := p.Reader.Read(b)
	if err == io.EOF {
		fmt.Println()
	}
	return n, err
}

// begins says what is wrong with a model that cannot talk, or not with a message of the system.
func (c *conversation) begins() error {
	if _, err := c.model.ChatTemplate(false); err != nil {
		return fmt.Errorf("%w, as mcs generate does", err)
	}
	_, err := c.model.ChatText(append(slices.Clip(c.begin), chat.Message{Role: "user", Content: "?"}), chat.Options{AddGenerationPrompt: true})
	return err
}

// listen ends the answer that is being given when Ctrl-C is pressed. When the system ends the program the
// terminal is restored.
func (c *conversation) listen(restore func()) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for s := range signals {
			if s != os.Interrupt {
				restore()
				os.Exit(stopSignal{s}.exitCode())
			}
			if stop := c.stop.Load(); stop != nil {
				(*stop)()
			}
		}
	}()
	return func() { signal.Stop(signals) }
}

// run answers messages to their end.
func (c *conversation) run(ctx context.Context, in messages) error {
	for {
		message, err := in.Readline()
		switch {
		case err == io.EOF:
			return nil
		case err == readline.ErrInterrupt:
			if message == "" {
				fmt.Fprintln(os.Stderr, "Ctrl-D leaves")
			}
			continue
		case err != nil:
			return gaveUp(ctx, fmt.Errorf("chat: %w", err), exitFailed)
		}
		switch strings.TrimSpace(message) {
		case "":
		case "/clear":
			c.talk.Messages = c.begin
			if c.terminal {
				fmt.Fprintln(os.Stderr, "(begun anew)")
			}
		default:
			if err := c.answer(ctx, message); err != nil && !c.terminal {
				return gaveUp(ctx, err, exitFailed)
			}
		}
	}
}

// answer prints an answer as it is made. What goes wrong is said on a terminal, where the conversation goes
// on.
func (c *conversation) answer(ctx context.Context, message string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.stop.Store(&cancel)
	defer c.stop.Store(nil)
	read, bar := progressing(ctx)
	begun, answer, wrong := time.Now(), "", error(nil)
	var first time.Duration
	for text, err := range c.talk.Stream(read, message, c.sampling) {
		if bar.Finish(); first == 0 {
			first = time.Since(begun)
		}
		printSaid(text)
		answer, wrong = answer+text, err
	}
	c.sampling.Seed++ // the same numbers would be drawn again
	if !strings.HasSuffix(answer, "\n") {
		fmt.Println()
	}
	switch {
	case !c.terminal:
	case wrong != nil && ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "(stopped: the answer and what it answers are no part of the conversation)")
	case wrong != nil:
		fmt.Fprintln(os.Stderr, "mcs:", visible.Text(wrong.Error()))
	default:
		fmt.Fprintln(os.Stderr, c.speed(answer, first, time.Since(begun)))
	}
	return wrong
}

// speed says how fast an answer was made. Its tokens are those of its text: characters that are none take
// more.
func (c *conversation) speed(answer string, first, took time.Duration) string {
	n := len(answer)
	if t := c.model.Tokenizer; t != nil {
		n = min(len(t.Encode(answer, false)), c.sampling.Tokens)
	}
	text := "(" + units.Plural(int64(n), "token")
	if n > 1 && took > first {
		text += " · " + units.Rate(float64(n-1)/(took-first).Seconds(), "tok/s") + ", the first after " + units.Duration(first)
	}
	return text + ")"
}
