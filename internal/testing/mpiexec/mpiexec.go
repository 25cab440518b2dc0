// Package mpiexec starts processes of tests by the MPI launchers of the machine.
package mpiexec

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A Launcher is an mpiexec.
type Launcher struct {
	Path string
	Open bool // Open MPI's, not MPICH's or one that is made of that
}

// All are the launchers of PATH, each once. Where there is none the test skips, and without CI=1: one start
// takes half a second and more.
func All(t *testing.T) (all []Launcher) {
	t.Helper()
	long.InCI(t, "starts processes by mpiexec")
	for _, name := range []string{"mpiexec.mpich", "mpiexec.openmpi", "mpiexec"} {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			path, err := exec.LookPath(filepath.Join(dir, name))
			if err == nil {
				path, err = filepath.EvalSymlinks(path)
			}
			if err != nil || slices.ContainsFunc(all, func(l Launcher) bool { return l.Path == path }) {
				continue
			}
			version, err := exec.CommandContext(t.Context(), path, "--version").Output()
			if err != nil {
				t.Errorf("%s --version: %v", path, err)
			}
			all = append(all, Launcher{path, !strings.Contains(string(version), "HYDRA")})
		}
	}
	if len(all) == 0 {
		t.Skip("no mpiexec: apt-get install mpich, or openmpi-bin, has one")
	}
	return all
}

// String is who made it.
func (l Launcher) String() string {
	if l.Open {
		return "Open MPI"
	}
	return "MPICH"
}

// Command runs the launcher, which may start more processes than there are processors, and as root.
func (l Launcher) Command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, l.Path, args...)
	c.Env = append(os.Environ(), "PATH="+filepath.Dir(l.Path)+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
	return c
}
