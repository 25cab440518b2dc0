package gguf

import "math"

// The K types search the scale of each group, so that the sum of squared errors of its numbers, by weights,
// is small: they round with some scales near the one of the range, and take each time the scale (and minimum)
// that fits these codes best, by least squares. These are the steps of llama.cpp's quantiser without an
// importance matrix (ggml-quants.c), in its order of float32, so files have the numbers that it writes.

// tooSmall is a range of values that the f16 of a block makes 0.
const tooSmall = 1e-15

// nearest rounds to the nearest integer, ties to even, within bounds of less than 2²¹.
func nearest(v float32, low, high int) int {
	const big = 3 << 22 // beside which a float32 has no fraction
	switch {
	case v < float32(low):
		return low
	case v > float32(high):
		return high
	}
	return int(math.Float32bits(v+big)&(1<<23-1)) - 1<<22
}

// fitMinimum finds codes 0…most with v ≈ scale·code − least, least ≥ 0, where large values weigh more. It
// tries most + first, + 0.1, … steps from the least to the greatest value.
func fitMinimum(values []float32, most int, first float32, tries int) (scale, least float32) {
	var weights, codes [32]float32
	var low, squares float32
	high := values[0]
	for _, v := range values {
		low, high, squares = min(low, v), max(high, v), squares+float32(v*v)
	}
	if high-low < tooSmall {
		return 0, -low
	}
	mean := float32(math.Sqrt(float64(squares / float32(len(values)))))
	var w, x float32 // sums by weight: of 1, of values
	for i, v := range values {
		weights[i] = mean + magnitude(v)
		w, x = w+weights[i], x+float32(weights[i]*v)
	}
	round := func(inverse float32) {
		for i, v := range values {
			codes[i] = float32(nearest(inverse*(v-low), 0, most))
		}
	}
	failure := func(scale, least float32) (sum float32) {
		for i, v := range values {
			d := float32(scale*codes[i]) + least - v
			sum += float32(weights[i] * float32(d*d))
		}
		return sum
	}
	inverse := float32(most) / (high - low)
	round(inverse)
	scale = 1 / inverse
	best := failure(scale, low)
	for try := range tries {
		round((first + float32(0.1*float32(try)) + float32(most)) / (high - low))
		var l, ll, xl float32 // sums by weight: of codes, their squares, their products with values
		for i, v := range values {
			wl := weights[i] * codes[i]
			l, ll, xl = l+wl, ll+float32(wl*codes[i]), xl+float32(wl*v)
		}
		d := float32(w*ll) - float32(l*l)
		if !(d > 0) {
			continue
		}
		s, m := (float32(w*xl)-float32(x*l))/d, (float32(ll*x)-float32(l*xl))/d
		if m > 0 {
			s, m = xl/ll, 0
		}
		if f := failure(s, m); f < best {
			best, scale, low = f, s, m // the next try begins at the new minimum
		}
	}
	return scale, -low
}

// fitMiddle finds codes −half…half−1 with v ≈ scale·code, where values weigh by their squares. It tries the
// extreme value at −half, and up to a step of 0.9 around that.
func fitMiddle(values []float32, half int) (scale float32) {
	most := extreme(values)
	if magnitude(most) < tooSmall {
		return 0
	}
	var best float32
	for _, try := range [...]int{0, -9, -8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9} {
		inverse := -(float32(half) + float32(0.1*float32(try))) / most
		var xl, ll float32 // sums by weight: of products of values and codes, of squares of codes
		for _, v := range values {
			code := float32(nearest(inverse*v, -half, half-1))
			square := v * v
			xl, ll = xl+float32(square*v*code), ll+float32(square*code*code)
		}
		if ll > 0 && (try == 0 || xl*xl > best*ll) {
			scale = xl / ll
			best = scale * xl
		}
	}
	return scale
}

// encodeMinimumsK writes Q4_K and, with 5 bits, Q5_K: the block's scale and minimum, 6 bits of those of each
// of 8 groups, fifth bits, the others.
func encodeMinimumsK(bits int, first float32, tries int) encoder {
	most := 1<<bits - 1
	return func(dst []byte, src []float32) float32 {
		var scales, leasts [8]float32
		var scale, least float32
		for g := range scales {
			scales[g], leasts[g] = fitMinimum(src[32*g:32*g+32], most, first, tries)
			scale, least = max(scale, scales[g]), max(least, leasts[g])
		}
		d, m := putHalf(dst, scale/63), putHalf(dst[2:], least/63)
		clear(dst[4:])
		six, fifths, qs := dst[4:16], dst[16:], dst[len(dst)-128:]
		for g := range scales {
			s, l := byte(nearest(sixtyThree(scale)*scales[g], 0, 63)), byte(nearest(sixtyThree(least)*leasts[g], 0, 63))
			if g < 4 {
				six[g], six[g+4] = s, l
			} else {
				six[g+4], six[g-4], six[g] = s&15|l<<4, six[g-4]|s>>4<<6, six[g]|l>>4<<6
			}
			if d*float32(s) == 0 {
				continue
			}
			for i, v := range src[32*g : 32*g+32] {
				code := byte(nearest((v+float32(m*float32(l)))/(d*float32(s)), 0, most))
				qs[g/2*32+i] |= code & 15 << (g % 2 * 4)
				if bits == 5 {
					fifths[i] |= code >> 4 << g
				}
			}
		}
		return d + m
	}
}

// sixtyThree is what scales most to 63.
func sixtyThree(most float32) float32 {
	if most > 0 {
		return 63 / most
	}
	return 0
}

// encodeQ6K writes the lower 4 bits of 256 numbers, their upper 2, 16 scales, the block's scale.
func encodeQ6K(dst []byte, src []float32) float32 {
	var scales [16]float32
	var sum float32
	for g := range scales {
		scales[g] = fitMiddle(src[16*g:16*g+16], 32)
		sum += scales[g]
	}
	clear(dst)
	most := extreme(scales[:])
	if magnitude(most) < tooSmall || sum-sum != 0 {
		return sum
	}
	inverse := -128 / most
	d := putHalf(dst[208:], 1/inverse)
	for g, scale := range scales {
		s := nearest(inverse*scale, -128, 127)
		dst[192+g] = byte(s)
		for i, v := range src[16*g : 16*g+16] {
			code, at := byte(32), 16*g+i
			if by := d * float32(s); by != 0 {
				code = byte(nearest(v/by, -32, 31) + 32)
			}
			dst[at/128*64+at%64] |= code & 15 << (at % 128 / 64 * 4)
			dst[128+at/128*32+at%32] |= code >> 4 << (at % 128 / 32 * 2)
		}
	}
	return d
}
