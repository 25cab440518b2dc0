package library

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/stdlib"
)

// Packages log, log/slog and flag each have a value that their functions speak for. A session has its own,
// which write to the session's error stream.

// methodsFor returns the methods of a value that are functions of its package, too.
func methodsFor(symbols map[string]reflect.Value, value any) map[string]any {
	own := map[string]any{}
	v := reflect.ValueOf(value)
	for name, f := range symbols {
		if m := v.MethodByName(name); m.IsValid() && m.Type() == f.Type() {
			own[name] = m
		}
	}
	return own
}

// flags are the functions of package flag for a command line of the session.
func (lib *Library) flags(symbols map[string]reflect.Value) map[string]any {
	f := flag.NewFlagSet(lib.args[0], flag.ExitOnError)
	f.SetOutput(lib.streams.Err)
	usage := func() {
		fmt.Fprintf(f.Output(), "Usage of %s:\n", f.Name())
		f.PrintDefaults()
	}
	f.Usage = func() { usage() }
	own := methodsFor(symbols, f)
	own["Usage"] = variable(&usage)
	own["CommandLine"] = variable(&f)
	own["Parse"] = func() { _ = lib.parseFlags(f, lib.args[1:]) } // it does not return an error
	own["FlagSet_Parse"] = lib.parseFlags
	return own
}

func (lib *Library) parseFlags(f *flag.FlagSet, arguments []string) error {
	defer func() {
		p := recover()
		if exit, ok := p.(stdlib.ExitRequest); ok {
			lib.limits.Exit(exit.Code)
		}
		if p != nil {
			panic(p)
		}
	}()
	return stdlib.ParseFlags(f, arguments)
}

// slog are the functions of package log/slog for a default logger of the session.
func (lib *Library) slog(symbols map[string]reflect.Value) map[string]any {
	level := new(slog.LevelVar)
	var current atomic.Pointer[slog.Logger]
	text := new(bytes.Buffer)
	current.Store(slog.New(&logHandler{slog.NewTextHandler(text, &slog.HandlerOptions{Level: level}), text, lib.logger, new(sync.Mutex)}))
	own := map[string]any{}
	for name := range methodsFor(symbols, current.Load()) {
		own[name] = reflect.MakeFunc(symbols[name].Type(), func(args []reflect.Value) []reflect.Value {
			return rt.Call(reflect.ValueOf(current.Load()).MethodByName(name), args)
		})
	}
	own["Default"] = current.Load
	own["SetDefault"] = func(l *slog.Logger) {
		current.Store(l)
		if _, ours := l.Handler().(*logHandler); !ours { // then package log speaks through it
			lib.logger.SetOutput(&logBridge{l.Handler(), level})
			lib.logger.SetFlags(0)
		}
	}
	own["SetLogLoggerLevel"] = func(l slog.Level) (old slog.Level) {
		old = level.Level()
		level.Set(l)
		return old
	}
	return own
}

// A logBridge turns the lines of package log into records, as slog.SetDefault does.
type logBridge struct {
	to    slog.Handler
	level slog.Leveler
}

func (b *logBridge) Write(line []byte) (int, error) {
	ctx, level := context.Background(), b.level.Level()
	if !b.to.Enabled(ctx, level) {
		return 0, nil
	}
	return len(line), b.to.Handle(ctx, slog.NewRecord(time.Now(), level, strings.TrimSuffix(string(line), "\n"), 0))
}

// A logHandler writes records as the default one of log/slog does: 2006/01/02 15:04:05 INFO message
// key=value.
type logHandler struct {
	slog.Handler // gives the attributes to text
	text         *bytes.Buffer
	to           *log.Logger
	mu           *sync.Mutex
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Reset()
	bare := slog.NewRecord(time.Time{}, r.Level, "", 0)
	r.Attrs(func(a slog.Attr) bool { bare.AddAttrs(a); return true })
	if err := h.Handler.Handle(ctx, bare); err != nil {
		return err
	}
	_, attrs, _ := strings.Cut(h.text.String(), `msg=""`)
	return h.to.Output(4, r.Level.String()+" "+r.Message+strings.TrimSuffix(attrs, "\n"))
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{h.Handler.WithAttrs(attrs), h.text, h.to, h.mu}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.Handler.WithGroup(name), h.text, h.to, h.mu}
}
