// mma.h: the blocks of products (see ../matrix.metal) for NVIDIA's GPUs, which multiply 16×8×16 at once.
//
// A fragment is a thread's part of a block of 16×16. Which elements that is follows from PTX: with g = lane/4 and
// t = lane%4, a register of a left operand holds those at row g, columns 2t and 2t+1, of one of four matrices of 8×8;
// that of a right operand those at rows 2t and 2t+1, column g; a sum has row g, columns 2t and 2t+1. One instruction
// (ldmatrix) loads all registers of a block from a tile, and transposes on the way if it must, so a tile may lie in
// threadgroup memory as it lies in the device's.
//
// What the machine does stands in cuda.h as PTX. In check.h it is computed as PTX defines it, so that texts for
// NVIDIA's GPUs run on the checking device, lane by lane.
#pragma once

namespace metal {

// The four matrices of a left block are, in this order, the upper and the lower one at the first 8 of the inner axis, and
// those at the other 8. Those of a right block are the first and the other 8 of the inner axis of the left 8 columns, and
// of the right ones. A sum has the left 8 columns in its first four elements.
template <class T> struct left_fragment { uint part[4]; };
template <class T> struct right_fragment { uint part[4]; };
struct sum_fragment { float part[8]; };

// Fragments of floats are those of TF32, whose instruction multiplies 16×8×8: the registers of the first 8 of the inner
// axis, then of the others. A left register has row g or g+8, column t or t+4.
template <> struct left_fragment<float> { float part[8]; };
template <> struct right_fragment<float> { float part[8]; };

MSL_INLINE void clear(sum_fragment& sum) {
	MSL_UNROLL for (int e = 0; e < 8; e++) sum.part[e] = 0.0f;
}

// woven is the place of an element in a tile with lines of `wide` elements. Lines are cut into pieces of 16 bytes, and the
// pieces of neighbouring lines change places, so that eight threads that read a piece each, from eight lines, meet no bank
// of the memory twice. Eight pieces are as wide as all banks.
template <class T, int wide> MSL_INLINE int woven(int line, int beside) {
	constexpr int per = 16 / int(sizeof(T)), pieces = wide / per, fold = pieces < 8 ? pieces : 8;
	return line * wide + ((beside / per) ^ (line / (8 / fold) % fold)) * per + beside % per;
}

// paved is the place of an element of two bytes where a warpgroup multiplies: a tile is paved with squares of eight lines of
// 128 bytes, woven, that lie one behind the other.
template <int wide> MSL_INLINE int paved(int line, int beside) {
	static_assert(wide % 64 == 0, "a tile is paved with lines of 128 bytes");
	return line / 8 * (8 * wide) + beside / 64 * 512 + woven<half, 64>(line % 8, beside % 64);
}

template <int wide, bool turned, class T, class P> MSL_INLINE void load_left(left_fragment<T>& l, P tile, int row, int deep) {
	const int lane = int(msl::lane()), line = lane % 8, lower = lane / 8 % 2 * 8, right = lane / 16 * 8;
	if constexpr (turned) msl::load_matrices<true>(l.part, tile + woven<T, wide>(deep + right + line, row + lower));
	else msl::load_matrices<false>(l.part, tile + woven<T, wide>(row + lower + line, deep + right));
}

template <int wide, bool turned, class T, class P> MSL_INLINE void load_right(right_fragment<T>& r, P tile, int deep, int column) {
	const int lane = int(msl::lane()), line = lane % 8, lower = lane / 8 % 2 * 8, right = lane / 16 * 8;
	if constexpr (turned) msl::load_matrices<false>(r.part, tile + woven<T, wide>(column + right + line, deep + lower));
	else msl::load_matrices<true>(r.part, tile + woven<T, wide>(deep + lower + line, column + right));
}

template <int wide, bool turned, class P> MSL_INLINE void load_left(left_fragment<float>& l, P tile, int row, int deep) {
	const int lane = int(msl::lane());
	MSL_UNROLL for (int i = 0; i < 8; i++) {
		const int y = row + lane / 4 + i % 2 * 8, x = deep + lane % 4 + i / 2 * 4;
		l.part[i] = tile[turned ? woven<float, wide>(x, y) : woven<float, wide>(y, x)];
	}
}

template <int wide, bool turned, class P> MSL_INLINE void load_right(right_fragment<float>& r, P tile, int deep, int column) {
	const int lane = int(msl::lane());
	MSL_UNROLL for (int i = 0; i < 8; i++) { // the four of the left 8 columns first
		const int y = deep + lane % 4 + i % 4 * 4, x = column + lane / 4 + i / 4 * 8;
		r.part[i] = tile[turned ? woven<float, wide>(x, y) : woven<float, wide>(y, x)];
	}
}

// round_left and round_right load blocks of halves from a tile of floats.
template <class T> MSL_INLINE uint rounded_pair(float first, float second) {
	return uint(bits_as<ushort>(T(first))) | uint(bits_as<ushort>(T(second))) << 16;
}

template <int wide, bool turned, class T, class P> MSL_INLINE void round_left(left_fragment<T>& l, P tile, int row, int deep) {
	const int lane = int(msl::lane());
	MSL_UNROLL for (int i = 0; i < 4; i++) {
		const int y = row + lane / 4 + i % 2 * 8, x = deep + lane % 4 * 2 + i / 2 * 8;
		l.part[i] = turned ? rounded_pair<T>(tile[woven<float, wide>(x, y)], tile[woven<float, wide>(x + 1, y)])
		                   : rounded_pair<T>(tile[woven<float, wide>(y, x)], tile[woven<float, wide>(y, x + 1)]);
	}
}

template <int wide, bool turned, class T, class P> MSL_INLINE void round_right(right_fragment<T>& r, P tile, int deep, int column) {
	const int lane = int(msl::lane());
	MSL_UNROLL for (int i = 0; i < 4; i++) {
		const int y = deep + lane % 4 * 2 + i % 2 * 8, x = column + lane / 4 + i / 2 * 8;
		r.part[i] = turned ? rounded_pair<T>(tile[woven<float, wide>(x, y)], tile[woven<float, wide>(x, y + 1)])
		                   : rounded_pair<T>(tile[woven<float, wide>(y, x)], tile[woven<float, wide>(y + 1, x)]);
	}
}

MSL_INLINE void multiply_half_block(half, float* d, const uint* a, const uint* b) { msl::multiply_half(d, a, b); }
MSL_INLINE void multiply_half_block(bfloat, float* d, const uint* a, const uint* b) { msl::multiply_bfloat(d, a, b); }

// multiply_group adds, in a queue of products, 16 of the inner axis from `deep` on: of 64 rows of a left tile from `row` on,
// and of the columns of a right one, 16 for each of the sums. The four simdgroups of a warpgroup have 16 of these rows each.
template <int sums, int left_wide, bool left_turned, int right_wide, bool right_turned, class Q, class P> MSL_INLINE void multiply_group(Q& queue, sum_fragment* sum, P left, int row, P right, int deep) {
	queue.template multiply<sums, left_turned, !right_turned>(sum, left + (left_turned ? paved<left_wide>(deep, row) : paved<left_wide>(row, deep)), 16 * left_wide,
		right + (right_turned ? paved<right_wide>(0, deep) : paved<right_wide>(deep, 0)), 16 * right_wide);
}

template <class T> MSL_INLINE void multiply(sum_fragment& sum, const left_fragment<T>& l, const right_fragment<T>& r) {
	multiply_half_block(T(), sum.part, l.part, r.part);
	multiply_half_block(T(), sum.part + 4, l.part, r.part + 2);
}

// load_narrow loads 32 of the inner axis of 8 columns of a right tile, and multiply_narrow adds two left blocks, one beside
// the other, times those: to the first or the other 8 columns of a sum.
template <int wide, class T, class P> MSL_INLINE void load_narrow(right_fragment<T>& r, P tile, int deep, int column) {
	msl::load_matrices<true>(r.part, tile + woven<T, wide>(deep + int(msl::lane()), column));
}
template <class T> MSL_INLINE void multiply_narrow(sum_fragment& sum, int half, const left_fragment<T>& first, const left_fragment<T>& other, const right_fragment<T>& r) {
	multiply_half_block(T(), sum.part + 4 * half, first.part, r.part);
	multiply_half_block(T(), sum.part + 4 * half, other.part, r.part + 2);
}

// multiply_tf32 rounds the operands to TF32, 11 bits.
MSL_INLINE void multiply_tf32(sum_fragment& sum, const left_fragment<float>& l, const right_fragment<float>& r) {
	uint a[8], b[8];
	MSL_UNROLL for (int i = 0; i < 8; i++) {
		a[i] = msl::tf32_bits(l.part[i]);
		b[i] = msl::tf32_bits(r.part[i]);
	}
	MSL_UNROLL for (int i = 0; i < 4; i++) msl::multiply_tf32(sum.part + i / 2 * 4, a + i % 2 * 4, b + i / 2 * 4 + i % 2 * 2);
}

// first_bits is x rounded to TF32, which takes two instructions, and rest_of what that leaves: of an infinity 0, of a NaN, which
// rounding may make a number, that NaN.
MSL_INLINE uint first_bits(float x) { return (bits_as<uint>(x) + 0x1000u) & ~0x1fffu; }
MSL_INLINE float rest_of(float x, uint first) { return msl::abs(bits_as<float>(first)) < INFINITY ? x - bits_as<float>(first) : 0.0f; }

// multiply_floats adds products of the first 11 bits of each operand and of what these leave. An operand that was f16 or bf16
// leaves nothing: left and right say which may. The product of two rests is left out, and of a rest the machine takes 11 bits:
// 2⁻²² of the result each, where a float has 2⁻²⁴.
template <bool left, bool right> MSL_INLINE void multiply_floats(sum_fragment& sum, const left_fragment<float>& l, const right_fragment<float>& r) {
	uint a[8], b[8], x[8], y[8]; // x and y are the rests
	MSL_UNROLL for (int i = 0; i < 8; i++) {
		a[i] = left ? first_bits(l.part[i]) : bits_as<uint>(l.part[i]);
		b[i] = right ? first_bits(r.part[i]) : bits_as<uint>(r.part[i]);
		if (left) x[i] = bits_as<uint>(rest_of(l.part[i], a[i]));
		if (right) y[i] = bits_as<uint>(rest_of(r.part[i], b[i]));
	}
	MSL_UNROLL for (int i = 0; i < 4; i++) {
		float* d = sum.part + i / 2 * 4;
		const int m = i % 2 * 4, n = i / 2 * 4 + i % 2 * 2;
		if (left) msl::multiply_tf32(d, x + m, b + n);
		if (right) msl::multiply_tf32(d, a + m, y + n);
		msl::multiply_tf32(d, a + m, b + n);
	}
}
MSL_INLINE void multiply(sum_fragment& sum, const left_fragment<float>& l, const right_fragment<float>& r) { multiply_floats<true, true>(sum, l, r); }

// sixteen is the table of codes of 4 bits, in registers: the first bytes of its floats, and the second ones. An instruction
// (prmt) picks four bytes of eight by four codes of a word, so a number takes three; from memory it would take as long as
// the load of a word. Numbers that have more than 16 bits are read from memory.
struct sixteen {
	uint first[4], second[4];
	bool longer;
	template <class P> MSL_MEMBER void take(P table) {
		uint rest = 0;
		MSL_UNROLL for (int i = 0; i < 4; i++) {
			first[i] = 0, second[i] = 0;
			MSL_UNROLL for (int j = 0; j < 4; j++) {
				const uint bits = bits_as<uint>(float(table[4 * i + j]));
				first[i] |= bits >> 24 << (8 * j);
				second[i] |= (bits >> 16 & 255u) << (8 * j);
				rest |= bits & 0xffffu;
			}
		}
		longer = rest != 0;
	}
	MSL_MEMBER static uint pick(const uint* bytes, uint codes, uint eights) {
		const uint low = msl::permute(bytes[0], bytes[1], codes), high = msl::permute(bytes[2], bytes[3], codes);
		return low ^ ((low ^ high) & eights);
	}
	// line gives w the numbers of the codes of a word (quant.metal), scaled: the code of number d is at byte d%4.
	template <class P> MSL_MEMBER void line(P table, uint word, float scale, float* w) const {
		MSL_UNROLL for (int half = 0; half < 2; half++) { // numbers 0, 4, 1, 5, then 2, 6, 3, 7
			const uint four = word >> (16 * half), codes = four & 0x7777u, eights = msl::permute(0xff00u, 0, four >> 3 & 0x1111u);
			const uint a = pick(first, codes, eights), b = pick(second, codes, eights);
			MSL_UNROLL for (int i = 0; i < 2; i++) {
				const uint pair = msl::permute(b, a, i == 0 ? 0x5140u : 0x7362u);
				w[2 * half + i] = scale * bits_as<float>(pair << 16);
				w[2 * half + i + 4] = scale * bits_as<float>(pair & 0xffff0000u);
			}
		}
		if (longer) {
			MSL_UNROLL for (int d = 0; d < 8; d++) w[d] = scale * float(table[word >> (8 * (d % 4) + 4 * (d / 4)) & 15u]);
		}
	}
};

MSL_INLINE float element(const sum_fragment& sum, int e) { return sum.part[e]; }
MSL_INLINE void set_element(sum_fragment& sum, int e, float v) { sum.part[e] = v; }
MSL_INLINE int row_of(const sum_fragment&, uint lane, int e) { return int(lane) / 4 + e / 2 % 2 * 8; }
MSL_INLINE int column_of(const sum_fragment&, uint lane, int e) { return e / 4 * 8 + int(lane) % 4 * 2 + e % 2; }

template <int stride, class P> MSL_INLINE void store_sum(const sum_fragment& sum, P to) {
	const uint lane = msl::lane();
	MSL_UNROLL for (int e = 0; e < 8; e += 2) msl::store_pair(to + (row_of(sum, lane, e) * stride + column_of(sum, lane, e)), sum.part[e], sum.part[e + 1]);
}

// left_of packs pairs: a sum's elements stand where those of a left operand do.
template <class T> MSL_INLINE void left_of(left_fragment<T>& l, const sum_fragment& sum) {
	MSL_UNROLL for (int i = 0; i < 4; i++) l.part[i] = rounded_pair<T>(sum.part[2 * i], sum.part[2 * i + 1]);
}

// A sum's elements do not stand where those of a left operand of floats do. Its columns change places: the first four
// of eight are the even ones. load_paired loads a right operand whose rows have changed places like that.
MSL_INLINE void left_of(left_fragment<float>& l, const sum_fragment& sum) {
	MSL_UNROLL for (int i = 0; i < 8; i++) l.part[i] = sum.part[i / 4 * 4 + i % 2 * 2 + i / 2 % 2];
}
template <int wide, class T, class P> MSL_INLINE void load_paired(right_fragment<T>& r, P tile, int deep, int column) { load_right<wide, false>(r, tile, deep, column); }
template <int wide, class P> MSL_INLINE void load_paired(right_fragment<float>& r, P tile, int deep, int column) {
	const int lane = int(msl::lane());
	MSL_UNROLL for (int i = 0; i < 8; i++) {
		const int y = deep + i % 4 / 2 * 8 + lane % 4 * 2 + i % 2, x = column + lane / 4 + i / 4 * 8;
		r.part[i] = tile[woven<float, wide>(y, x)];
	}
}

// woven_lines is where an element of a tile lies.
template <class T, int wide> struct woven_lines {
	MSL_MEMBER static int place(int line, int beside) { return woven<T, wide>(line, beside); }
};

} // namespace metal
