package term

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
)

// dumbEditor reads lines as the terminal itself edits them, for terminals that understand no escape
// sequences.
type dumbEditor struct {
	source     *source
	interrupts *interrupts
	prefilled  string
}

func (e *dumbEditor) Print(b []byte) (int, error) { return os.Stdout.Write(b) }
func (e *dumbEditor) Remember(string)             {}
func (e *dumbEditor) Step(File)                   {}
func (e *dumbEditor) Ran() int                    { return -1 }
func (e *dumbEditor) Prefill(text string)         { e.prefilled = text }
func (e *dumbEditor) Older(func() []string)       {}
func (e *dumbEditor) Status(string)               {}
func (e *dumbEditor) Running(bool)                {}
func (e *dumbEditor) Close() error                { return nil }

// ReadCell reads lines until they are a complete cell; the prompt of the next line says what is missing. A
// text that was put into the cell before cannot be edited: it is the cell.
func (e *dumbEditor) ReadCell(n int) (string, error) {
	prompt := fmt.Sprintf("In [%d]: ", n)
	text := ""
	if e.prefilled != "" {
		text, e.prefilled = e.prefilled, ""
		fmt.Fprintln(os.Stdout, prompt+strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(prompt))))
		return text, nil
	}
	for first := true; ; first = false {
		fmt.Fprint(os.Stdout, prompt)
		line, err := e.readLine()
		switch {
		case err == errCancelled:
			fmt.Fprintln(os.Stdout)
			return "", &interruptError{empty: first}
		case err == io.EOF && !first:
			return "", &interruptError{}
		case err != nil:
			fmt.Fprintln(os.Stdout)
			return "", err
		}
		if !first {
			text += "\n"
		}
		text += line
		fault, _ := cell.Check(text)
		if fault.Missing == "" {
			return text, nil
		}
		prompt = "… missing " + fault.Missing + ": "
	}
}

// readLine reads one line. The text behind it stays for the next reader.
func (e *dumbEditor) readLine() (string, error) {
	interrupted, stop := e.interrupts.next()
	defer stop()
	var line []byte
	for {
		buf := make([]byte, 4096)
		n, err := e.source.read(buf, interrupted)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			e.source.unread(buf[i+1 : n])
			return strings.TrimSuffix(string(append(line, buf[:i]...)), "\r"), nil
		}
		line = append(line, buf[:n]...)
		if err != nil {
			return "", err
		}
	}
}
