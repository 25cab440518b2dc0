// attention.metal: products of tiles whose first result stays in registers, for attention (Dao and others:
// FlashAttention, 2022; FlashAttention-2, 2023).
//
// A strip is 16 rows that a simdgroup holds in registers, as 8×8 matrices: a thread has the elements (row, column) and
// (row, column + 1) of each, and so two rows of the strip, row and row + 8. So a strip of scores becomes the left operand
// of the next product without a way through memory, and what a row needs (its greatest score, its sum) is found by two
// shuffles. Operands come from tiles in threadgroup memory, of rows that lie stride elements apart: 16 bytes more than
// the row is long, so that the rows which a simdgroup reads at once lie in different banks.
//
// For 16 rows and a tile of T columns, a step of 8 along the inner axis loads 16·8 + 8·T elements for 2·16·8·T operations:
// with T = 32 it is 21 operations an element. On an M-series GPU, the matrix units are the limit for f16 and bf16 at
// widths of 64 and more, registers for wider results: 16·128 numbers of f32 are 64 registers a thread.
#ifndef MSL_STRIPS // CUDA's prelude has strips of its own
inline int strip_row(uint lane) { return int((lane / 4 & 4) + lane / 2 % 4); }
inline int strip_column(uint lane) { return int((lane / 4 & 2) * 2 + lane % 2 * 2); }

// N is the number of columns, by 8.
template <int N> struct strip {
	simdgroup_float8x8 part[2 * N];
	inline void clear() {
		for (int n = 0; n < 2 * N; n++) part[n] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
	}
	// get and set reach the thread's elements: matrix n, row or row + 8 (under), column or column + 1 (e).
	inline float get(int n, int under, int e) { return part[2 * n + under].thread_elements()[e]; }
	inline void set(int n, int under, int e, float x) { part[2 * n + under].thread_elements()[e] = x; }
};

// strip_max and strip_sum merge the numbers of the four threads that share a row. A NaN is not the greatest.
inline float strip_max(float x) {
	x = max(x, simd_shuffle_xor(x, 1));
	return max(x, simd_shuffle_xor(x, 8));
}
inline float strip_sum(float x) {
	x += simd_shuffle_xor(x, 1);
	return x + simd_shuffle_xor(x, 8);
}

// scored adds x·yᵀ to s: x has 16 rows, y as many as s has columns, and both are depth wide.
template <int N, typename T> inline void scored(thread strip<N>& s, threadgroup const T* x, threadgroup const T* y, int stride, int depth) {
	for (int d = 0; d < depth; d += 8) {
		simdgroup_matrix<T, 8, 8> l[2], r;
		for (int u = 0; u < 2; u++) simdgroup_load(l[u], x + (8 * u * stride + d), stride);
		for (int n = 0; n < N; n++) {
			simdgroup_load(r, y + (8 * n * stride + d), stride, ulong2(0), true);
			for (int u = 0; u < 2; u++) simdgroup_multiply_accumulate(s.part[2 * n + u], l[u], r, s.part[2 * n + u]);
		}
	}
}

// weighted adds w·y to wide matrices of sum from matrix first on: y has as many rows as w has columns. A narrow type would
// round the weights, so they are the sum of two: what a first one leaves is the second. With the loads of y shared, that
// costs less than a product more.
template <int wide, int N, int M, typename T> inline void weighted(thread strip<N>& sum, int first, thread strip<M>& w, threadgroup const T* y, int stride) {
	for (int m = 0; m < M; m++) {
		simdgroup_matrix<T, 8, 8> l[2], rest[2], r;
		for (int u = 0; u < 2; u++) {
			for (int e = 0; e < 2; e++) {
				const float x = w.get(m, u, e);
				l[u].thread_elements()[e] = T(x);
				rest[u].thread_elements()[e] = T(x - loaded(T(x)));
			}
		}
		for (int n = 0; n < wide; n++) {
			simdgroup_load(r, y + (8 * m * stride + 8 * n), stride);
			for (int u = 0; u < 2; u++) {
				simdgroup_multiply_accumulate(sum.part[2 * (first + n) + u], l[u], r, sum.part[2 * (first + n) + u]);
				if (sizeof(T) < 4) simdgroup_multiply_accumulate(sum.part[2 * (first + n) + u], rest[u], r, sum.part[2 * (first + n) + u]);
			}
		}
	}
}
#endif

// A fetch moves a tile to threadgroup memory: rows first to first + high of a list of count, and of each the elements
// from d on, wide of them, of width; 0 stands beyond both. Of grouped rows, per follow one another by step, and each such
// run begins jump after the one before it; else all follow one another by step.
template <bool grouped, typename I> inline I row_at(I n, I per, I jump, I step) { return grouped ? n / per * jump + n % per * step : n * step; }

// fetch_vectors loads 16 bytes at a time: the elements of a row lie side by side, and all begins at multiples of that. A
// thread has four such loads under way.
template <int wide, int high, int threads, bool grouped, typename T, typename I> inline void fetch_vectors(threadgroup T* to, int stride, device const T* from, I first, I count, I per, I jump, I step, I d, I width, int me) {
	constexpr int each = 16 / int(sizeof(T)), across = wide / each, total = high * across;
	for (int e = me; e < total; e += 4 * threads) {
		uint4 v[4];
		for (int i = 0; i < 4; i++) {
			const int at = e + i * threads;
			const I row = first + at / across, column = d + at % across * each;
			v[i] = uint4(0);
			if (at < total && row < count && column < width) v[i] = *(device const uint4*)(from + (row_at<grouped>(row, per, jump, step) + column));
		}
		for (int i = 0; i < 4; i++) {
			const int at = e + i * threads;
			if (at < total) *(threadgroup uint4*)(to + (at / across * stride + at % across * each)) = v[i];
		}
	}
}

// fetch_elements loads element by element, which lie apart apart, and converts them.
template <int wide, int high, int threads, bool grouped, typename T, typename S, typename I> inline void fetch_elements(threadgroup T* to, int stride, device const S* from, I first, I count, I per, I jump, I step, I apart, I d, I width, int me) {
	for (int at = me; at < high * wide; at += threads) {
		const I row = first + at / wide, column = d + at % wide;
		float v = 0.0f;
		if (row < count && column < width) v = loaded(from[row_at<grouped>(row, per, jump, step) + column * apart]);
		to[at / wide * stride + at % wide] = T(v);
	}
}
