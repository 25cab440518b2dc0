// Package std holds the symbol tables of Go's standard library. Everything but this file is generated.
package std

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"reflect"
	"testing"
)

// ExitRequest is what os.Exit and log.Fatal panic with inside a session, so that a cell cannot end the
// process.
type ExitRequest struct {
	Code int
}

func (e ExitRequest) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// replaced are the symbols that the generated tables must not take from the package itself. The names with an
// underscore are additions: a method of a compiled type cannot be replaced, so the session lowers l.Fatal(v)
// to log.Logger_Fatal(l, v).
var replaced = map[string]map[string]reflect.Value{
	"os": {
		"Exit": reflect.ValueOf(func(code int) { panic(ExitRequest{code}) }),
	},
	"log": {
		"Fatal":          reflect.ValueOf(func(v ...any) { loggerFatal(log.Default(), v...) }),
		"Fatalf":         reflect.ValueOf(func(format string, v ...any) { loggerFatalf(log.Default(), format, v...) }),
		"Fatalln":        reflect.ValueOf(func(v ...any) { loggerFatalln(log.Default(), v...) }),
		"Logger_Fatal":   reflect.ValueOf(loggerFatal),
		"Logger_Fatalf":  reflect.ValueOf(loggerFatalf),
		"Logger_Fatalln": reflect.ValueOf(loggerFatalln),
	},
	"flag": {
		"Parse":         reflect.ValueOf(func() { _ = ParseFlags(flag.CommandLine, os.Args[1:]) }),
		"FlagSet_Parse": reflect.ValueOf(ParseFlags),
	},
	"testing": {
		"Main": reflect.ValueOf(func(func(pat, str string) (bool, error), []testing.InternalTest, []testing.InternalBenchmark, []testing.InternalExample) {
			panic(errors.New("testing.Main ends the process: not available in cells"))
		}),
	},
}

func loggerFatal(l *log.Logger, v ...any) {
	l.Print(v...)
	panic(ExitRequest{1})
}

func loggerFatalf(l *log.Logger, format string, v ...any) {
	l.Printf(format, v...)
	panic(ExitRequest{1})
}

func loggerFatalln(l *log.Logger, v ...any) {
	l.Println(v...)
	panic(ExitRequest{1})
}

// ParseFlags is f.Parse(arguments), but where that would end the process it panics with an ExitRequest.
func ParseFlags(f *flag.FlagSet, arguments []string) error {
	if f.ErrorHandling() != flag.ExitOnError {
		return f.Parse(arguments)
	}
	f.Init(f.Name(), flag.ContinueOnError)
	err := f.Parse(arguments)
	f.Init(f.Name(), flag.ExitOnError)
	switch {
	case errors.Is(err, flag.ErrHelp):
		panic(ExitRequest{0})
	case err != nil:
		panic(ExitRequest{2})
	}
	return nil
}

// Symbols returns the table of the package with this import path.
func Symbols(path string) (map[string]reflect.Value, bool) {
	for _, p := range Packages {
		if p.Path == path {
			symbols := p.Symbols()
			for name, v := range replaced[path] {
				symbols[name] = v
			}
			return symbols, true
		}
	}
	return nil, false
}
