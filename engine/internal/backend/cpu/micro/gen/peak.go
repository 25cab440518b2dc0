package main

// emitPeak writes loops of fused multiply-adds alone: the most that a core can do.
func emitPeak(f *file) {
	for _, s := range []set{avx2, avx512, {"BF16", avx512.prefix, avx512.lanes, avx512.regs}} {
		fn := f.function("does n times 12 multiply-adds of a vector.", "peak"+s.name, "n int")
		fn.load("n", "CX")
		for i := range 14 {
			fn.op("VXORPS", s.y(i), s.y(i), s.y(i)) // clears the whole register
		}
		for range fn.loop(fn.label("loop"), "CX", 1) {
			for i := range 12 {
				if s.name == "BF16" { // of pairs
					fn.dotBF16(12, 13, i)
				} else {
					fn.op("VFMADD231PS", s.v(12), s.v(13), s.v(i))
				}
			}
		}
		fn.end()
		if s.name != "BF16" {
			f.enter("peaks[isa.%s] = peakLoop{peak%s, 12 * %d * 2}", s.name, s.name, s.lanes)
		}
	}
}
