package examples

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// fieldsOf are the fields that files of a kind may have, by their types; those with a ! they must have. A []
// is each element of a list, a .* each value of a map.
var fieldsOf = map[string]string{
	// Kubeflow Trainer 2, pkg/apis/trainer/v1alpha1/trainjob_types.go, and core/v1 of Kubernetes.
	"trainjob.yaml": `
apiVersion string!
kind string!
metadata.name string!
spec.suspend bool
spec.runtimeRef.name string!
spec.runtimeRef.apiGroup string
spec.runtimeRef.kind string
spec.trainer.image string
spec.trainer.command[] string
spec.trainer.args[] string
spec.trainer.env[].name string
spec.trainer.env[].value string
spec.trainer.env[].valueFrom.secretKeyRef.name string
spec.trainer.env[].valueFrom.secretKeyRef.key string
spec.trainer.numNodes int
spec.trainer.numProcPerNode int
spec.trainer.resourcesPerNode.limits.* quantity
spec.trainer.resourcesPerNode.requests.* quantity
spec.runtimePatches[].manager string
spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs[].name string
spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template.spec.volumes[].name string
spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template.spec.volumes[].persistentVolumeClaim.claimName string
spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template.spec.containers[].name string
spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template.spec.containers[].volumeMounts[].name string
spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template.spec.containers[].volumeMounts[].mountPath string
`,
	// SkyPilot 0.14.1, sky/utils/schemas.py: get_task_schema, get_resources_schema.
	"skypilot.yaml": `
name string
workdir string
num_nodes int
envs.* string
setup string
run string
resources.accelerators string
resources.cpus quantity
resources.memory quantity
resources.image_id string
`,
}

// Files for clusters have the fields that those who read them know.
func TestCluster(t *testing.T) {
	for name, table := range fieldsOf {
		text, err := os.ReadFile(filepath.Join("cluster", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range misfits(t, string(text), table) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
	const bad = "apiVersion: 1\nkind: TrainJob\nmetadata: {name: a}\nspec:\n  trainer: {numNode: 2, numNodes: two, command: torchrun}\n"
	want := []string{"apiVersion is int, want string", "spec.runtimeRef.name is missing", "spec.trainer.command is no field", "spec.trainer.numNode is no field", "spec.trainer.numNodes is string, want int"}
	got := misfits(t, bad, fieldsOf["trainjob.yaml"])
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("got %q, want %s", got, w)
		}
	}
}

// misfits are how a file differs from a table.
func misfits(t *testing.T, text, table string) (list []string) {
	t.Helper()
	var file any
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for line := range strings.Lines(table) {
		if path, kind, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			types[path] = kind
		}
	}
	found := leaves("", file)
	for path, kind := range found {
		want, ok := types[path]
		if !ok {
			if dot := strings.LastIndex(path, "limits."); dot >= 0 { // names of resources have dots
				want, ok = types[path[:dot]+"limits.*"]
			}
		}
		want = strings.TrimSuffix(want, "!")
		switch {
		case !ok:
			list = append(list, path+" is no field")
		case kind != want && !(want == "quantity" && (kind == "int" || kind == "string")):
			list = append(list, fmt.Sprintf("%s is %s, want %s", path, kind, want))
		}
	}
	for path, kind := range types {
		if found[path] == "" && strings.HasSuffix(kind, "!") {
			list = append(list, path+" is missing")
		}
	}
	slices.Sort(list)
	return list
}

// leaves are the types of the values that are neither maps nor lists, by their paths.
func leaves(path string, v any) map[string]string {
	all := map[string]string{}
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			maps.Copy(all, leaves(strings.TrimPrefix(path+"."+name, "."), x))
		}
	case []any:
		for _, x := range v {
			maps.Copy(all, leaves(path+"[]", x))
		}
	case uint64, int64:
		all[path] = "int"
	default:
		all[path] = fmt.Sprintf("%T", v)
	}
	return all
}
