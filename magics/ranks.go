package magics

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/repl/together"
)

func rankMagics() []*Magic {
	return []*Magic{{
		Name: "ranks", Family: "Engine", Args: "[N]", Varies: true,
		Summary: "run cells in N processes of this machine at once, or show these",
		Help: "Starts N−1 helpers, each on a device of its own beside this session's, which run the cells that this session has run, and then each\n" +
			"cell as it does. ranks.Here() is the group, so train.Options{Ranks: ranks.Here()} shares the batches of a step. What the helpers\n" +
			"put out is shown where it differs. Helpers leave out cells that failed and commands that write files or run programs; what Go code\n" +
			"writes they write again. A helper that is gone ends the others, and this session goes on. %ranks 1 ends them, as the end of the\n" +
			"session does.",
		Example: "%ranks\n%ranks 2\n%ranks 1",
		run:     runRanks,
	}, {
		Name: "rank", Family: "Engine", Session: true, Args: "R|all STATEMENT", Takes: TakesNothing, Cell: true,
		Summary: "run a cell on one of the processes of %ranks, or on all",
		Help:    "What another rank than 0 puts out is shown with its number. The cell must not use the group: the other ranks do not.",
		Example: "%rank all ranks.Here().Rank()\n%rank 0 device.Default()",
		run:     runRank,
	}}
}

// most is how many ranks can be asked for: no machine has so many devices.
const most = 256

func runRanks(ctx context.Context, c *call) (display.Value, error) {
	words := c.words()
	if len(words) == 0 {
		return showRanks(c)
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 || n > most || len(words) > 1 {
		return nil, c.errorf("got %q, want a number from 1 to %d", strings.TrimSpace(c.rest), most)
	}
	if history := c.s.History(); len(cell.Split(history[len(history)-1].Source)) != 1 {
		return nil, c.errorf("want a cell of its own: helpers run whole cells")
	}
	if c.s.Confined() {
		return nil, c.errorf("%w", session.ErrConfined)
	}
	if together.Follows(c.s) { // rank 0 is about to end it
		return nil, nil
	}
	if l, ok := c.s.Joined().(*together.Lead); ok {
		l.Leave()
	}
	if n == 1 && c.s.Joined() == nil {
		return nil, nil
	}
	names, err := ranks.Beside(device.Default().String(), n)
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	var commands []*exec.Cmd
	for i, name := range names {
		h := exec.Command(self, "rank", "--device", name)
		h.Dir, h.Stderr = c.s.Began(), together.Labelled(i+1, c.s.Stderr())
		commands = append(commands, h)
	}
	cells := repeated(c.s)
	l, err := together.Start(ctx, c.s, commands, cells)
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	return display.Text(fmt.Sprintf("%v; the others have run %s", l, units.Plural(int64(len(cells)), "cell"))), nil
}

// repeated are the cells that another session runs to have what this one has.
func repeated(s *session.Session) (cells []session.Cell) {
	history := s.History()
	for _, c := range history[:len(history)-1] { // but the one that runs
		if c.Source = withCommands(c.Source, repeatable); c.Source != "" && !c.Err {
			cells = append(cells, c)
		}
	}
	return cells
}

// repeatable is the text of a command for a helper: "" for one that is about the session, that chooses a
// device, or that changes what is outside.
func repeatable(m *Magic, text string) string {
	switch {
	case m.Name == "store":
		return storedAgain(text)
	case m.run == nil || m.Session || m.Name == "ranks" || m.Name == "device" || m.Outside && m.Name != ":=!":
		return ""
	}
	_, args, _ := cell.ParseCommand(text)
	if flags, _, err := m.parse(args); err != nil || m.outside(flags) && !m.Outside {
		return ""
	}
	return text
}

// A process is what a rank says of itself.
type process struct {
	PID           int
	Device        string
	InUse, Memory int64
}

func showRanks(c *call) (display.Value, error) {
	group, d := ranks.Here(), device.Default()
	m := d.Memory()
	own, err := json.Marshal(process{os.Getpid(), d.String(), m.InUse, m.Total})
	if err != nil {
		return nil, err
	}
	texts, err := group.Texts(string(own))
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	t := display.NewTable("rank", ">process", "device", ">in use", ">of")
	for rank, text := range texts {
		var p process
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return nil, c.errorf("rank %d: %w", rank, err)
		}
		pid := strconv.Itoa(p.PID)
		if rank == group.Rank() {
			pid = "this one"
		}
		t.Add(display.Cell{Text: strconv.Itoa(rank), Role: display.Name}, pid, p.Device, display.BytesCell(p.InUse), sizeCell(p.Memory))
	}
	t.Foot = group.String()
	return t, nil
}

func runRank(ctx context.Context, c *call) (display.Value, error) {
	where, source := nextWord(strings.TrimLeft(c.rest, " \t"))
	group := ranks.Here()
	n, err := strconv.Atoi(where)
	if where != "all" && (err != nil || n < 0 || n >= group.Size()) {
		return nil, c.errorf("got %q, want all or one of the ranks 0 to %d", where, group.Size()-1)
	}
	if where != "all" && n != group.Rank() {
		return nil, nil
	}
	r := c.s.RunAlone(ctx, strings.TrimSpace(source))
	if group.Rank() > 0 {
		r.Shown = nil // it has been heard
	}
	return values(r.Shown).value(), r.Err
}
