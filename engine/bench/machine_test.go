package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/machine"
)

func TestMachineSince(t *testing.T) {
	const s = time.Second
	used := func(busy, stolen, total, own time.Duration) Machine {
		return Machine{Cores: 4, Steal: -1, Others: -1, used: machine.Usage{Known: true, Busy: busy, Stolen: stolen, Total: total, Own: own}}
	}
	for _, tt := range []struct {
		name          string
		before, after Machine
		steal, others float64
	}{
		{"only this process", used(10*s, 0, 100*s, 5*s), used(11*s, 0, 104*s, 6*s), 0, 0},
		{"two others", used(10*s, 0, 100*s, 5*s), used(13*s, 0, 104*s, 6*s), 0, 2},
		{"a tenth stolen", used(10*s, 0, 100*s, 5*s), used(11*s, s, 110*s, 6*s), 0.1, 0},
		{"this process was counted later", used(10*s, 0, 100*s, 5*s), used(11*s, 0, 104*s, 6*s+s/50), 0, 0},
		{"too short to tell", used(10*s, 0, 100*s, 5*s), used(10*s, s/100, 100*s+s/10, 5*s), -1, -1},
		{"not known", Machine{Steal: -1, Others: -1}, Machine{Steal: -1, Others: -1}, -1, -1},
	} {
		if m := tt.after.since(tt.before); m.Steal != tt.steal || m.Others != tt.others {
			t.Errorf("%s: got %v stolen, %v others, want %v, %v", tt.name, m.Steal, m.Others, tt.steal, tt.others)
		}
	}
}

func TestNoise(t *testing.T) {
	for _, tt := range []struct {
		machine Machine
		want    string // nothing for a quiet machine
	}{
		{Machine{Cores: 2, Others: 0.1, Steal: 0.01, Power: "mains"}, ""},
		{Machine{Cores: 2, Others: -1, Steal: -1}, ""},
		{Machine{Cores: 2, Others: 1.5}, "other processes keep 1.5 of 2 processors busy"},
		{Machine{Cores: 2, Beside: 1}, "other work of this process keeps 1.0 of 2 processors busy"},
		{Machine{Cores: 2, Steal: 0.12}, "12 % of the processors' time is given to other machines"},
		{Machine{Cores: 2, Power: "battery"}, "it runs on battery"},
	} {
		if got := strings.Join(tt.machine.Noise(), "; "); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.machine, got, tt.want)
		}
	}
}

func TestSurvey(t *testing.T) {
	m := Survey(t.Context())
	if m.Cores < 1 || m.OS == "" || !strings.HasPrefix(m.Device, "cpu: ") || !strings.Contains(m.String(), m.Device) {
		t.Errorf("got %+v", m)
	}
}

func TestMachineDiffers(t *testing.T) {
	here := Machine{CPU: "a", Cores: 2, Engine: "v1.0.0", Power: "mains", Load: 1}
	there := Machine{CPU: "b", Cores: 2, Engine: "v1.1.0", Power: "battery", Load: 2}
	if got, want := there.differs(here), []string{"processor: b, then a", "mcs: v1.1.0, then v1.0.0", "power: battery, then mains"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := here.differs(here); got != nil {
		t.Errorf("the same machine: got %q", got)
	}
}
