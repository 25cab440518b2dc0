package kernel

import "fmt"

// Rows that are longer than registers hold, on NVIDIA's GPUs.
//
// A thread goes along the row in turns of 16 bytes. The machine copies them to threadgroup memory, a few
// turns ahead of the one that is worked on: so much is under way whatever a thread computes, and takes no
// registers. A thread reads what it has copied itself, so nobody meets.
//
// What fits stays there for the next passes. The first turns have places of their own; those behind them take
// turns in a ring, and are copied again. The last pass begins at the end of the row: there the ring still has
// the last turns, and the others were read last, so that the second-level cache has them.
//
// Bytes and operations: a row of 151,936 bf16 has 304 KB, of which 224 KB stay. So its cross entropy with the
// gradient moves 4 bytes an element, and not 6: with two threadgroups a processor 80 MB of rows are worked on
// at once, more than the cache of an H200 holds. That does some 32 instructions in the time of 4 bytes, and
// both passes take 22 an element.

// A ring has so many places at most. All but one are under way.
const mostRing = 8

// reserve chooses which inputs go through threadgroup memory, and how many turns of each stay there. A single
// pass has no more than a short ring, so that two threadgroups share a processor.
func (r *rowText) reserve(limits Limits) {
	if limits.Family != NVIDIA || !r.vectors {
		return
	}
	if r.halves() && r.space.vectors(8) {
		r.each = 8
	}
	var kept []int
	alike := r.needs(false, false) // one row for all, which the caches keep
	for i, needed := range r.needs(true, false) {
		if needed && !alike[i] && r.space.places[i].strides[0] == 1 && r.each*r.g.Inputs[i].DType.Size() == 16 {
			kept = append(kept, i)
		}
	}
	turn := 16 * r.threads * max(1, len(kept)) // bytes
	room := (limits.Memory - 4*mostFolds*r.exchanged()) / turn
	if r.classes() && r.gradient == nil {
		room = min(room, mostRing/2)
	}
	if kept == nil || room < 2 {
		return
	}
	r.kept, r.ring, r.stay = kept, min(mostRing, floorPower(room)), (r.space.lens[0]+r.turn()-1)/r.turn()
	r.bytes = turn * min(room, r.stay)
	if r.stay > room {
		r.stay = room - r.ring
	}
	r.memory = ", threadgroup uint4* kept [[threadgroup(0)]]"
}

// turn is how many elements of a row its threads take in one turn.
func (r *rowText) turn() int { return r.threads * r.each }

// openKept opens a loop over the turns. The last pass goes back, and finds in the ring what no later turn has
// taken the place of.
func (r *rowText) openKept(last bool) {
	if r.back(last) {
		r.line("%[1]s turn = (a.n0 - 1 - %[1]s(at.x) * %[2]d) / %[3]d;", r.index, r.each, r.turn())
		r.line("for (%[1]s i0 = (turn * %[2]d + %[1]s(at.x)) * %[3]d; turn >= 0; turn--, i0 -= %[4]d) {", r.index, r.threads, r.each, r.turn())
		return
	}
	if r.passes > 1 {
		r.copyFirst()
	}
	r.line("for (%[1]s turn = 0, i0 = %[1]s(at.x) * %[2]d; i0 < a.n0; turn++, i0 += %[3]d) {", r.index, r.each, r.turn())
}

// copyFirst begins to copy the first turns. Those of the first pass are under way before all else.
func (r *rowText) copyFirst() {
	r.line("UNROLL for (int turn = 0; turn < %d; turn++) {", r.ring-1)
	r.line("const %[1]s i0 = (%[1]s(turn) * %[2]d + %[1]s(at.x)) * %[3]d;", r.index, r.threads, r.each)
	r.copyTurn(false)
	r.line("}")
}

// back says whether a pass goes from the row's end to its begin.
func (r *rowText) back(last bool) bool { return last && r.passes > 1 }

// copyTurn begins to copy a turn, unless it is there.
func (r *rowText) copyTurn(last bool) {
	wanted := "i0 < a.n0"
	switch {
	case r.back(last):
		wanted = fmt.Sprintf("turn >= a.stay && i0 + %d < a.n0", r.ring*r.turn())
	case r.passes > 1:
		wanted += " && turn >= a.stay"
	}
	r.line("if (%s) {", wanted)
	for n, i := range r.kept {
		name := r.inputName(i)
		r.line("copies.take((threadgroup %s*)(kept + %s), a.%s + (%s), %d);", memoryTypes[r.g.Inputs[i].DType], r.keptAt(n),
			name, r.at(name, &r.space.places[i]), r.each)
	}
	r.line("}")
	r.line("copies.commit();")
}

// keptAt is where the thread's elements of a turn lie in threadgroup memory, of the nth input that is kept.
func (r *rowText) keptAt(n int) string {
	return fmt.Sprintf("(turn_place(uint(turn), uint(a.stay), %d) * %d + %d + at.x)", r.ring, r.threads*len(r.kept), r.threads*n)
}

// loadKept takes what is kept of the inputs that are needed, and begins to copy what the thread needs ring-1
// turns later.
func (r *rowText) loadKept(needed need, last bool) {
	r.line("copies.finish<%d>();", r.ring-2)
	for n, i := range r.kept {
		if needed[i] {
			in, name := r.g.Inputs[i], r.inputName(i)
			r.names[i], r.vector[i] = name, true
			r.line("%s %s[%d];", register(in.DType), name, r.each)
			r.line("unpack<%s>(kept[%s], %s);", memoryTypes[in.DType], r.keptAt(n), name)
		}
	}
	ahead := r.ring - 1
	if r.back(last) {
		ahead = -ahead
	}
	r.line("const %s later = turn + %d, far = i0 + %d;", r.index, ahead, ahead*r.turn())
	r.line("{")
	r.line("const %s turn = later, i0 = far;", r.index)
	r.copyTurn(last)
	r.line("}")
}
