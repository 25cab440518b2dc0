package magics

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/profile"
)

func TestAssertion(t *testing.T) {
	r := &profile.Recording{Launches: 5, Copies: 1, Kernels: []profile.Kernel{{Bytes: 2000, Flops: 8}}}
	for condition, want := range map[string]string{
		"":                               "",
		"launches <= 5":                  "",
		"launches == 5 && copies == 1":   "",
		"(launches - copies) * 2 == 8":   "",
		"bytes <= 1.5e3 || flops > 7":    "",
		"launches <= 3":                  "%kernels: launches <= 3 does not hold: launches is 5",
		"launches <= 3 && launches != 5": "%kernels: launches <= 3 && launches != 5 does not hold: launches is 5",
		"!(kernels < 2*copies)":          "%kernels: !(kernels < 2*copies) does not hold: kernels is 1, copies is 1",
		"lunches <= 3":                   "%kernels: -assert: no count is called lunches; there are bytes, copies, flops, kernels, launches, plans",
		"launches":                       "%kernels: -assert: got launches, want a condition such as launches <= 3",
		"launches <=":                    `%kernels: -assert: got "launches <=", want a condition such as launches <= 3`,
		"launches && 3":                  `%kernels: -assert: got "launches && 3", whose parts do not go together`,
		"f(launches)":                    `%kernels: -assert: got "f(launches)", want a condition such as launches <= 3`,
		"launches/0 > 1":                 `%kernels: -assert: got "launches/0 > 1", whose parts do not go together`,
	} {
		got := ""
		if err := (&call{magic: &Magic{Name: "kernels"}}).holds(condition, r); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", condition, got, want)
		}
	}
	r.Kernels = append(r.Kernels, profile.Kernel{Uncounted: true})
	const want = "%kernels: -assert: no count is called flops; there are bytes, copies, kernels, launches, plans"
	if err := (&call{magic: &Magic{Name: "kernels"}}).holds("flops < 9", r); err == nil || err.Error() != want {
		t.Errorf("with a kernel whose operations nobody counted: got %v, want %s", err, want)
	}
}
