package tile

import "unsafe"

// watched is the amount of work after which Run asks whether to go on: some 0.3 ms.
const watched = 1 << 20

// Run evaluates the n linear indices from start on. Runs longer than [Len] are cut into tiles. Run returns
// early if the function given to [State.Watch] says so.
func (s *State) Run(start, n int) {
	step := max(Len, watched/(1+s.prog.work)&^(Len-1))
	for ; n > step; n -= step {
		if s.stopped != nil && s.stopped() {
			return
		}
		s.run(start, step)
		start += step
	}
	s.run(start, n)
}

func (s *State) run(start, n int) {
	if s.prog.tiled {
		for ; n > Len; n -= Len {
			s.tile(start, Len)
			start += Len
		}
	}
	if n > 0 {
		s.tile(start, n)
	}
}

// Reserve announces calls of Fetch for up to n elements.
func (s *State) Reserve(n int) {
	s.max = n
	s.fetch = make([]unsafe.Pointer, len(s.outs))
	s.room = make([]unsafe.Pointer, len(s.outs))
}

// buffer returns the memory for output i of Fetch. It is allocated on first use, because Fetch often finds
// all outputs in place.
func (s *State) buffer(i int) unsafe.Pointer {
	if s.room[i] == nil {
		mem := make([]uint64, s.max*int(s.prog.outs[i].size)/8+9)
		s.room[i] = Align(unsafe.Pointer(unsafe.SliceData(mem)))
	}
	return s.room[i]
}

// View returns the address of the n elements of output i from linear index start on, if an input holds them
// in the form in which they would be stored. It returns nil if they have to be computed or gathered.
func (s *State) View(i, start, n int) unsafe.Pointer {
	if in := s.prog.views[i]; in >= 0 {
		p, _ := s.inPlace(in, start, n)
		return p
	}
	return nil
}

// Fetch evaluates n linear indices from start on, at most as many as were reserved. It returns the address
// of each output's elements: in the state's memory, or in an input that holds them already. They are valid
// until the next call. Callers do not write to them.
func (s *State) Fetch(start, n int) []unsafe.Pointer {
	computed := false
	for i := range s.fetch {
		s.fetch[i] = s.View(i, start, n)
		computed = computed || s.fetch[i] == nil
	}
	if !computed {
		return s.fetch
	}
	for i := range s.fetch {
		s.outs[i] = anchored{s.buffer(i), start}
		if s.fetch[i] == nil {
			s.fetch[i] = s.room[i]
		}
	}
	s.Run(start, n)
	return s.fetch
}

func (s *State) tile(start, n int) {
	p := s.prog
	for i := range p.given {
		g := &s.given[i]
		s.ptr[p.given[i].slot] = unsafe.Add(g.p, uintptr(start-g.at)*p.given[i].size)
	}
	for i := range p.outs {
		o := &s.outs[i]
		s.ptr[p.outs[i].slot] = unsafe.Add(o.p, uintptr(start-o.at)*p.outs[i].size)
	}
	for i := range p.inputs {
		in := &p.inputs[i]
		switch {
		case in.into >= 0:
			s.gatherOut(i, s.ptr[p.outs[in.into].slot], start, n)
		case in.scratch < 0:
			s.ptr[in.slot] = unsafe.Add(s.in[i], uintptr(start)*in.size)
		default:
			s.gather(i, unsafe.Add(s.regs, in.scratch), start, n)
		}
	}
	for i := range p.code {
		c := &p.code[i]
		c.fn(s.ptr[c.d], s.ptr[c.a], s.ptr[c.b], s.ptr[c.c], n)
	}
}

// locate decomposes a linear index of input i into s.coord and returns the offset of the element.
func (s *State) locate(i, start int) int {
	dims := s.prog.inputs[i].walk.dims
	offset := 0
	for k := len(dims) - 1; k > 0; k-- {
		q := start / dims[k].size
		s.coord[k] = start - q*dims[k].size
		offset += s.coord[k] * dims[k].stride
		start = q
	}
	s.coord[0] = start
	return offset + start*dims[0].stride
}

// inPlace returns the address of n elements of input i from start on, if they are contiguous.
func (s *State) inPlace(i, start, n int) (p unsafe.Pointer, offset int) {
	in := &s.prog.inputs[i]
	if in.walk.contiguous() {
		return unsafe.Add(s.in[i], uintptr(start)*in.size), start
	}
	offset = s.locate(i, start)
	last := len(in.walk.dims) - 1
	if inner := in.walk.dims[last]; inner.stride == 1 && s.coord[last]+n <= inner.size {
		return unsafe.Add(s.in[i], offset*int(in.size)), offset
	}
	return nil, offset
}

// gatherOut gathers elements of input i in the output that repeats it.
func (s *State) gatherOut(i int, out unsafe.Pointer, start, n int) {
	in := &s.prog.inputs[i]
	s.gather(i, out, start, n)
	if p := s.ptr[in.slot]; p != out {
		bytes := n * int(in.size)
		copy(unsafe.Slice((*byte)(out), bytes), unsafe.Slice((*byte)(p), bytes))
	}
}

// gather copies elements of input i into a register, or points the slot at memory where they are
// contiguous.
func (s *State) gather(i int, reg unsafe.Pointer, start, n int) {
	in := &s.prog.inputs[i]
	p, offset := s.inPlace(i, start, n)
	if p != nil {
		s.ptr[in.slot] = p
		return
	}
	dims := in.walk.dims
	last := len(dims) - 1
	inner := dims[last]
	if in.block >= 0 && s.coord[last]+n <= inner.size && n >= minTransposed {
		s.ptr[in.slot] = s.fromBlock(i, offset, n)
		return
	}
	s.ptr[in.slot] = reg
	for n > 0 {
		run := min(n, inner.size-s.coord[last])
		copyRun(reg, unsafe.Add(s.in[i], offset*int(in.size)), inner.stride, run, in.size)
		n -= run
		if run == inner.size && last > 0 && dims[last-1].stride == 0 {
			again := min(n/run, dims[last-1].size-1-s.coord[last-1])
			done := run * int(in.size)
			for all := unsafe.Slice((*byte)(reg), done*(1+again)); done < len(all); done *= 2 {
				copy(all[done:], all[:done])
			}
			reg = unsafe.Add(reg, uintptr(again*run)*in.size)
			n -= again * run
			s.coord[last-1] += again
		}
		if n == 0 {
			return
		}
		reg = unsafe.Add(reg, uintptr(run)*in.size)
		offset -= s.coord[last] * inner.stride
		s.coord[last] = 0
		for k := last - 1; k >= 0; k-- {
			s.coord[k]++
			offset += dims[k].stride
			if s.coord[k] < dims[k].size {
				break
			}
			offset -= s.coord[k] * dims[k].stride
			s.coord[k] = 0
		}
	}
}

// copyRun copies n elements of size bytes from addresses that are stride elements apart.
func copyRun(d, src unsafe.Pointer, stride, n int, size uintptr) {
	switch size {
	case 1:
		copyElements[uint8](d, src, stride, n)
	case 2:
		copyElements[uint16](d, src, stride, n)
	case 4:
		copyElements[uint32](d, src, stride, n)
	case 8:
		copyElements[uint64](d, src, stride, n)
	}
}

func copyElements[T uint8 | uint16 | uint32 | uint64](d, src unsafe.Pointer, stride, n int) {
	out := unsafe.Slice((*T)(d), n)
	switch stride {
	case 1:
		copy(out, unsafe.Slice((*T)(src), n))
	case 0:
		v := *(*T)(src)
		for i := range out {
			out[i] = v
		}
	default:
		step := stride * int(unsafe.Sizeof(out[0]))
		for i := range out {
			out[i] = *(*T)(unsafe.Add(src, i*step))
		}
	}
}
