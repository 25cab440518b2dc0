// matrix.metal: what products are made of. A simdgroup multiplies blocks of 16×16, which it reads from tiles in
// threadgroup memory, and adds up in registers: sum += left·right.
//
//	load_left<stride, turned>(l, tile, row, deep)        16 rows from row on, 16 of the inner axis from deep on
//	load_right<stride, turned>(r, tile, deep, column)
//	multiply(sum, l, r)
//	element(sum, e), of e = 0…7: the thread's; set_element; it stands at row_of(sum, lane, e), column_of(sum, lane, e)
//	store_sum<stride>(sum, to)
//	left_of(l, sum): a sum, rounded, is the left operand of another product
//
// The lines of a tile go along the inner axis for the left operand and along the columns for the right one; a turned
// tile has them the other way. Here lines are stride elements apart, a few more than they have, so that eight of them
// begin in eight different places of the memory's banks; in prelude/mma.h they have stride elements, and are woven.
//
// There are two sets of blocks, with the same functions. Here are left_matrix, right_matrix and sum_matrix, for Apple's
// GPUs: four simdgroup matrices of 8×8. A block takes 16·16·16 multiplications and additions, 8,192 operations, for 1 KB
// of halves from threadgroup memory; a simdgroup that holds 2×2 blocks needs half of that. Where an element stands among
// the threads is as on all GPUs of Apple so far. prelude/mma.h has left_fragment, right_fragment and sum_fragment, for
// NVIDIA's GPUs, which multiply 16×8×16 at once.

// plain_copies moves pieces of 16 bytes from device to threadgroup memory: take moves count elements and fills up with 0.
// Where a GPU can do that by itself (prelude/mma.h), finish waits until all but the last n batches are there.
struct plain_copies {
	template <typename T> inline void take(threadgroup T* to, device const T* from, int count) {
		constexpr int per = 16 / int(sizeof(T));
		if (count >= per) {
			*(threadgroup uint4*)to = *(device const uint4*)from;
			return;
		}
		for (int i = 0; i < per; i++) to[i] = i < count ? from[i] : T(0.0f);
	}
	inline void commit() {}
	template <int n> inline void finish() {}
};

template <typename T> struct left_matrix { simdgroup_matrix<T, 8, 8> part[4]; };  // row by row
template <typename T> struct right_matrix { simdgroup_matrix<T, 8, 8> part[4]; }; // row by row
struct sum_matrix { simdgroup_matrix<float, 8, 8> part[4]; };                      // row by row

inline void clear(thread sum_matrix& sum) {
	UNROLL for (int i = 0; i < 4; i++) sum.part[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
}

template <int stride, bool turned, typename T> inline void load_left(thread left_matrix<T>& l, threadgroup const T* tile, int row, int deep) {
	UNROLL for (int i = 0; i < 4; i++) {
		const int down = row + i / 2 * 8, right = deep + i % 2 * 8;
		simdgroup_load(l.part[i], tile + (turned ? right * stride + down : down * stride + right), stride, ulong2(0), turned);
	}
}

template <int stride, bool turned, typename T> inline void load_right(thread right_matrix<T>& r, threadgroup const T* tile, int deep, int column) {
	UNROLL for (int i = 0; i < 4; i++) {
		const int down = deep + i / 2 * 8, right = column + i % 2 * 8;
		simdgroup_load(r.part[i], tile + (turned ? right * stride + down : down * stride + right), stride, ulong2(0), turned);
	}
}

template <typename A, typename B> inline void multiply(thread sum_matrix& sum, left_matrix<A> l, right_matrix<B> r) {
	UNROLL for (int i = 0; i < 4; i++) {
		UNROLL for (int k = 0; k < 2; k++) simdgroup_multiply_accumulate(sum.part[i], l.part[i / 2 * 2 + k], r.part[2 * k + i % 2], sum.part[i]);
	}
}

inline float element(thread sum_matrix& sum, int e) { return sum.part[e / 2].thread_elements()[e % 2]; }
inline void set_element(thread sum_matrix& sum, int e, float v) { sum.part[e / 2].thread_elements()[e % 2] = v; }
inline int row_of(thread const sum_matrix& sum, uint lane, int e) { return e / 4 * 8 + int((lane / 4 & 4) + lane / 2 % 4); }
inline int column_of(thread const sum_matrix& sum, uint lane, int e) { return e / 2 % 2 * 8 + int((lane / 4 & 2) * 2 + lane % 2 * 2) + e % 2; }

template <int stride> inline void store_sum(thread sum_matrix& sum, threadgroup float* to) {
	UNROLL for (int i = 0; i < 4; i++) simdgroup_store(sum.part[i], to + (i / 2 * 8 * stride + i % 2 * 8), stride);
}

template <typename T> inline void left_of(thread left_matrix<T>& l, thread sum_matrix& sum) {
	UNROLL for (int i = 0; i < 8; i++) l.part[i / 2].thread_elements()[i % 2] = T(element(sum, i));
}

// read4 reads four elements of a tile at once.
template <typename T> inline void read4(threadgroup const T* from, thread T* to) {
	const vec<T, 4> v = *(threadgroup const vec<T, 4>*)from;
	to[0] = v.x;
	to[1] = v.y;
	to[2] = v.z;
	to[3] = v.w;
}
