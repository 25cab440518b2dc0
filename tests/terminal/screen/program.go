package screen

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// Patience is the time that a test waits for an event. It does not measure speed: machines that run tests
// are slow at times.
const Patience = 60 * time.Second

// A Program runs in a pseudo-terminal and draws on a Screen.
type Program struct {
	*Screen
	t    testing.TB
	tty  *os.File
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended and all it wrote is drawn
	late sync.Mutex    // held while nothing is drawn
}

// Start runs cmd. The test fails if it does not end before the test does.
func Start(t testing.TB, cmd *exec.Cmd, cols, rows int) *Program {
	t.Helper()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
	if err != nil {
		t.Fatalf("pseudo-terminal: %v", err)
	}
	p := &Program{Screen: New(cols, rows), t: t, tty: tty, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			p.late.Lock()
			p.Write(buf[:n])
			p.late.Unlock()
			if err != nil { // the other end is closed
				cmd.Wait()
				return
			}
		}
	}()
	t.Cleanup(func() {
		select {
		case <-p.done:
		default:
			cmd.Process.Kill()
			<-p.done
		}
		tty.Close()
	})
	return p
}

// Send types keys.
func (p *Program) Send(keys string) {
	p.t.Helper()
	if _, err := p.tty.WriteString(keys); err != nil {
		p.t.Fatalf("send %q: %v\n%s", keys, err, p.Text())
	}
}

// Wait waits until cond holds. What names the event, for the failure.
func (p *Program) Wait(what string, cond func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(Patience); !cond(); time.Sleep(5 * time.Millisecond) {
		ended := false
		select {
		case <-p.done:
			ended = !cond()
		default:
		}
		if ended || time.Now().After(deadline) {
			p.t.Fatalf("waited for %s (program ended: %v); the screen:\n%s", what, ended, p.Text())
		}
	}
}

// See waits until text stands on the screen.
func (p *Program) See(text string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("%q", text), func() bool { return strings.Contains(p.Text(), text) })
}

// SeeLine waits until the cursor's line is line (blanks at its end do not count).
func (p *Program) SeeLine(line string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("the line %q", line), func() bool {
		_, _, got := p.Cursor()
		return got == strings.TrimRight(line, " ")
	})
}

// SeeCursor waits until the cursor stands in a column and row; see [Screen.Cursor].
func (p *Program) SeeCursor(column, row int) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("the cursor at %d, %d", column, row), func() bool {
		x, y, _ := p.Cursor()
		return x == column && y == row
	})
}

// Resize changes the size of the terminal.
func (p *Program) Resize(cols, rows int) {
	p.t.Helper()
	p.Screen.Resize(cols, rows)
	if err := pty.Setsize(p.tty, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		p.t.Fatal(err)
	}
}

// Pause makes the terminal one that reads and draws nothing until resume is called. What the program writes
// meanwhile waits in the system.
func (p *Program) Pause() (resume func()) {
	p.late.Lock()
	return p.late.Unlock
}

// Terminate asks the program to end, as a system that shuts down does.
func (p *Program) Terminate() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
}

// Hangup tells the program that its terminal has gone, as the system does when a connection ends.
func (p *Program) Hangup() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		p.t.Fatal(err)
	}
}

// Exit waits for the end of the program and gives its exit code.
func (p *Program) Exit() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(Patience):
		p.t.Fatalf("the program does not end; the screen:\n%s", p.Text())
	}
	return p.cmd.ProcessState.ExitCode()
}
