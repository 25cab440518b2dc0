package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// onSmallDisk runs a script of sh in a file system of that size, which lies in dir. $MCS is this command.
func onSmallDisk(t *testing.T, dir, size, script string) (out string, err error) {
	t.Helper()
	script = "mkdir disk && mount -t tmpfs -o size=" + size + " none disk && cd disk || exit 99\n" + script
	cmd := exec.CommandContext(t.Context(), "unshare", "-rm", "sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), beCommand+"=1", "MCS="+os.Args[0])
	b, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 99 || strings.Contains(string(b), "unshare:") {
		t.Skipf("needs a small disk of its own: %v %s", err, b)
	}
	return string(b), err
}

// TestFullDisks: each kind of file is written twice, and where the second does not fit the error says so, the
// first is there as it was, and nothing lies beside it.
func TestFullDisks(t *testing.T) {
	t.Parallel()
	const model = "m := llm.New(llm.Config{Vocab: 64, Layers: 2, Width: width, Heads: 2})\n"
	kinds := map[string]string{ // what writes out, or a folder of that name; width is 16 and then 256
		"safetensors": "nn.Save(`out`, nn.NewLinear(width, width))",
		"tensors":     "safetensors.Save(`out`, map[string]tensor.Tensor{`x`: tensor.Randn(width, width)}, nil)",
		"npy":         "npy.Save(`out`, tensor.Randn(width, width))",
		"npz":         "npy.SaveZip(`out`, map[string]tensor.Tensor{`x`: tensor.Randn(width, width)})",
		"adapter":     "m := nn.Sequential{nn.NewLinear(width, width)}; ad := lora.Inject(m, lora.Config{Rank: width / 2}); ad.Save(`out`)",
		"MLX":         "m := nn.Sequential{nn.NewLinear(width, width)}; ad := lora.Inject(m, lora.Config{Rank: width / 2}); ad.SaveMLX(`out`)",
		"GGUF":        model + "llm.SaveGGUF(`out`, m, llm.GGUF{})",
		"codes":       model + "quant.Module(m, quant.Config{Bits: 8}); quant.Save(`out`, m)",
		"folder":      model + "llm.Save(`out`, m)",
		"picture":     "p := plot.Image(tensor.Rand(width, width)); p.Save(`out.png`)",
		"IDX":         "data.WriteIDX(`out`, tensor.RandInt(0, 255, 2*width, 2*width).Cast(dtype.U8))",
		"session":     "text := strings.Repeat(`x`, width*width*4)\n_ = text\n// %%\n%save -f out.mcs",
	}
	for kind, write := range kinds {
		t.Run(kind, func(t *testing.T) {
			with := func(width string) string {
				if kind == "session" && width == "256" {
					write = "// " + strings.Repeat("x", 256<<10) + "\n" + write
				}
				return "width := " + width + "\n" + write + "\n"
			}
			dir := writeFiles(t, map[string]string{"small.mcs": "// %%\n" + with("16"), "big.mcs": "// %%\n" + with("256")})
			out, err := onSmallDisk(t, dir, "160k", `"$MCS" run ../small.mcs || exit 97
ls -AR > ../names; cp -r . ../before
"$MCS" run ../big.mcs && exit 98
ls -AR | diff ../names - && diff -r ../before .`)
			if err != nil || !regexp.MustCompile(`out.*no space left on device`).MatchString(out) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
