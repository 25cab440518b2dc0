package msl

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// What Metal's GPUs have at most.
const (
	mostThreads          = 1024
	mostThreadgroupBytes = 32768
	mostBuffers          = 31
)

// attributes has what a kernel can ask for, and whether it may be a vector.
var attributes = map[string]bool{
	"thread_position_in_grid": true, "threads_per_grid": true, "threadgroup_position_in_grid": true, "threadgroups_per_grid": true,
	"thread_position_in_threadgroup": true, "threads_per_threadgroup": true,
	"thread_index_in_threadgroup": false, "thread_index_in_simdgroup": false, "simdgroup_index_in_threadgroup": false,
	"simdgroups_per_threadgroup": false, "threads_per_simdgroup": false,
}

// kernel looks at the head of a kernel.
func (l *linter) kernel(k *Kernel) {
	if f := k.function; l.text(f.at-1) != "void" {
		l.report(f.at, "kernel %s returns a value: write kernel void, and a buffer for the result", k.Name)
	}
	if k.MaxThreads > mostThreads || k.MaxThreads < 0 {
		l.report(k.function.at, "kernel %s: got %d threads in a threadgroup, want 1 to %d", k.Name, k.MaxThreads, mostThreads)
	}
	taken := map[[2]int]string{}
	vector := 0
	for _, a := range k.Arguments {
		l.argument(k, a, taken)
		if n := width(a.Type); a.Kind == Attribute && attributes[a.Attribute] {
			if vector != 0 && n != vector {
				l.problems = append(l.problems, Problem{a.Pos, k.Name + ": got positions of different numbers of elements: write uint, uint2 or uint3 for all of them"})
			}
			vector = n
		}
	}
	for i := range l.code {
		if l.text(i) == k.Name && l.text(i+1) == "(" && i != k.function.at && !l.leftOut(i) {
			l.report(i, "kernel %s is called: write a function that both call", k.Name)
		}
	}
}

// width is how many elements a position of type t has, or 0 for a type that is none.
func width(t string) int {
	switch t {
	case "uint", "ushort":
		return 1
	case "uint2", "ushort2":
		return 2
	case "uint3", "ushort3":
		return 3
	}
	return 0
}

// argument looks at one argument of a kernel; taken has the indexes of those before it.
func (l *linter) argument(k *Kernel, a Argument, taken map[[2]int]string) {
	wrong := func(text string, args ...any) {
		l.report(l.placeOf(a), "argument %s: "+text, append([]any{a.Name}, args...)...)
	}
	var spaces []string
	for _, i := range a.tokens {
		if isSpace(l.text(i)) {
			spaces = append(spaces, l.text(i))
		}
	}
	if a.Kind == Attribute {
		vectors, known := attributes[a.Attribute]
		switch n := width(a.Type); {
		case a.Attribute == "buffer":
			wrong("got [[buffer(n)]] on a value: write constant %s& %s", a.Type, a.Name)
		case a.Attribute == "":
			wrong("has no attribute: write [[thread_position_in_grid]] or another, or constant %s& %s [[buffer(n)]]", a.Type, a.Name)
		case !known:
			wrong("got [[%s]], want one of %s", a.Attribute, strings.Join(sortedAttributes(), ", "))
		case n == 0 || n > 1 && !vectors:
			wrong("got type %s for [[%s]], want uint or ushort%s", a.Type, a.Attribute, map[bool]string{true: ", uint2, uint3, ushort2 or ushort3"}[vectors])
		}
		return
	}
	group := 0
	if a.Kind == Threadgroup {
		group = 1
	}
	switch {
	case len(spaces) == 0:
		wrong("got %s without an address space: write device, constant or threadgroup before its type", a.Type)
	case spaces[0] == "thread":
		wrong("got thread memory, which a host does not have: write device or constant")
	case a.Attribute != "" && a.Attribute != "buffer" && a.Attribute != "threadgroup":
		wrong("got [[%s]] on an address, want [[buffer(n)]] or, for threadgroup memory, [[threadgroup(n)]]", a.Attribute)
	case a.Index < 0 && a.Kind == Threadgroup:
		wrong("has no index: write [[threadgroup(n)]]")
	case a.Index < 0:
		wrong("has no index: write [[buffer(n)]]")
	case a.Index >= mostBuffers:
		wrong("got index %d, want 0 to %d", a.Index, mostBuffers-1)
	case taken[[2]int{group, a.Index}] != "":
		wrong("got index %d, which %s has: write another", a.Index, taken[[2]int{group, a.Index}])
	}
	taken[[2]int{group, a.Index}] = a.Name
}

// placeOf is the place of an argument's name.
func (l *linter) placeOf(a Argument) int { return a.tokens[len(a.tokens)-1] + 1 }

func sortedAttributes() []string { return slices.Sorted(maps.Keys(attributes)) }

// instances looks at how a kernel is instantiated: hosts has the names that are taken.
func (l *linter) instances(k *Kernel, hosts map[string]Pos) {
	if len(k.Instances) == 0 {
		l.report(k.function.at, "template %s has no instance: write template [[host_name(\"…\")]] kernel decltype(%[1]s<…>) %[1]s<…>;", k.Name)
	}
	for _, in := range k.Instances {
		if old, taken := hosts[in.Name]; taken {
			l.problems = append(l.problems, Problem{in.Pos, "there is a kernel " + in.Name + " in line " + strconv.Itoa(old.Line) + " already"})
		}
		hosts[in.Name] = in.Pos
		if bytes := l.threadgroupBytes(k, in); bytes > mostThreadgroupBytes {
			l.report(k.function.at, "kernel %s declares %d bytes of threadgroup memory, want at most %d", in.Name, bytes, mostThreadgroupBytes)
		}
	}
}

// threadgroupBytes adds up the threadgroup memory that an instance declares. What it cannot compute counts
// as nothing; package check counts when the kernel runs.
func (l *linter) threadgroupBytes(k *Kernel, in Instance) int64 {
	env := map[string]int64{}
	types := map[string]string{}
	for n, p := range k.Parameters {
		if n >= len(in.Args) {
			break
		}
		types[p.Name] = in.Args[n]
		if v, ok := parseNumber(in.Args[n]); ok {
			env[p.Name] = v
		}
	}
	var total int64
	f := k.function
	for i := f.body; i < f.end; i++ {
		if !l.local(i) {
			continue
		}
		at, _ := l.localName(i)
		size := l.sizeOf(places(i+1, at), types)
		for j := at + 1; l.text(j) == "["; j = l.partner[j] + 1 {
			n, ok := l.evaluate(places(j+1, l.partner[j]), env)
			if !ok || n < 0 || n > 1<<32 {
				n = 0
			}
			size *= n
		}
		total += size
	}
	return total
}

// sizeOf is how many bytes a type has that is a number, a vector or a parameter of the template; 0 if it is
// neither.
func (l *linter) sizeOf(list []int, types map[string]string) int64 {
	if len(list) == 0 {
		return 0
	}
	t := l.text(list[0])
	if t == "vec" && len(list) >= 6 {
		n, _ := parseNumber(resolve(l.text(list[4]), types)) // vec < T , N >
		e := sizes[resolve(l.text(list[2]), types)]
		if n == 3 {
			n = 4
		}
		return e * n
	}
	return sizes[resolve(t, types)]
}

func resolve(t string, types map[string]string) string {
	if r, ok := types[t]; ok {
		return r
	}
	return t
}
