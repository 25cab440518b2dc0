// attention.metal: products of tiles whose first result stays in registers, for attention (Dao: FlashAttention-2, 2023).
//
// A simdgroup has a strip: 16 rows of scores, as blocks of matrix.metal. A thread has elements of two rows of a strip, row
// and row + 8, which four threads share. So scores become the left operand of the next product without a way through
// memory, and what a row needs, its greatest score and its sum, is found by two shuffles.
//
// For a strip and a tile of 64 columns, a step of 16 along the inner axis loads 16·16 + 16·64 elements for 2·16·16·64
// operations: 26 an element. On an M-series GPU the matrix units are the limit for widths of 64 and more.

// strip_max and strip_sum merge the numbers of the four threads that share a row: their lanes differ in the bits of first
// and second. A NaN is not the greatest.
template <ushort first, ushort second> METAL_FUNC float strip_max(float x) {
	x = max(x, simd_shuffle_xor(x, first));
	return max(x, simd_shuffle_xor(x, second));
}
template <ushort first, ushort second> METAL_FUNC float strip_sum(float x) {
	x += simd_shuffle_xor(x, first);
	return x + simd_shuffle_xor(x, second);
}

template <int N, typename Sum> METAL_FUNC void clear_strip(thread Sum (&s)[N]) {
	UNROLL for (int n = 0; n < N; n++) clear(s[n]);
}

// scored adds x·yᵀ to s: of x 16 rows from some row on, of y as many as s has columns, from line on. Both are wide.
template <typename Left, typename Right, int stride, int wide, int N, typename Sum, typename T> METAL_FUNC void scored(thread Sum (&s)[N], threadgroup const T* x, int row, threadgroup const T* y, int line) {
	for (int deep = 0; deep < wide; deep += 16) {
		Left l;
		load_left<stride, false>(l, x, row, deep);
		UNROLL for (int n = 0; n < N; n++) {
			Right r;
			load_right<stride, true>(r, y, deep, line + 16 * n);
			multiply(s[n], l, r);
		}
	}
}

// load_paired loads a right operand whose left one left_of has made.
template <int stride, typename T> METAL_FUNC void load_paired(thread right_matrix<T>& r, threadgroup const T* tile, int deep, int column) {
	load_right<stride, false>(r, tile, deep, column);
}

// weighted adds w·y to sum, from its block first on: y has as many rows as w has columns, and is wide. Weights are rounded
// to the type of y.
template <typename Left, typename Right, int stride, int wide, int N, int M, typename Sum, typename T> METAL_FUNC void weighted(thread Sum (&sum)[N], int first, thread Sum (&w)[M], threadgroup const T* y) {
	UNROLL for (int m = 0; m < M; m++) {
		Left l;
		left_of(l, w[m]);
		UNROLL for (int n = 0; n < wide / 16; n++) {
			Right r;
			load_paired<stride>(r, y, 16 * m, 16 * n);
			multiply(sum[first + n], l, r);
		}
	}
}

// padded_lines is where an element of a tile lies for matrix.metal: lines are stride elements apart. woven_lines of
// prelude/mma.h is that for NVIDIA's GPUs.
template <typename T, int stride> struct padded_lines {
	static inline int place(int line, int beside) { return line * stride + beside; }
};

// A fetch moves a tile to threadgroup memory: rows first to first + high of a list of count, and of each the elements
// from d on, wide of them, of width; 0 stands beyond both. Of grouped rows, per follow one another by step, and each such
// run begins jump after the one before it; else all follow one another by step.
template <bool grouped, typename I> inline I row_at(I n, I per, I jump, I step) { return grouped ? n / per * jump + n % per * step : n * step; }

// fetch_pieces moves 16 bytes at a time: the elements of a row lie side by side, and all begins at multiples of that. A
// thread has the same piece of each of its lines.
template <typename Lines, int wide, int high, int threads, bool grouped, typename Copies, typename T, typename I> METAL_FUNC void fetch_pieces(thread Copies& copies, threadgroup T* to, device const T* from, I first, I count, I per, I jump, I step, I d, I width, int me) {
	constexpr int each = 16 / int(sizeof(T)), pieces = wide / each, apart = threads / pieces;
	const int begin = int(uint(me) / uint(pieces)), beside = int(uint(me) % uint(pieces)) * each;
	from += d + beside;
	UNROLL for (int at = 0; at < high; at += apart) {
		const int line = at + begin;
		if (high % apart != 0 && line >= high) break;
		const I row = first + line;
		const bool within = row < count && d + beside < width;
		copies.take(to + Lines::place(line, beside), from + (within ? row_at<grouped>(row, per, jump, step) : I(0)), within ? each : 0);
	}
}

// slot_at is where row n of a batch lies: pages lists its pages, which lie apart apart and have page rows each. One that
// does not exist stands for the nearest.
template <typename I> inline I slot_at(device const long* pages, I apart, I page, I last_page, I n) {
	const long at = pages[n / page * apart];
	return I(max(long(0), min(at, long(last_page)))) * page + n % page;
}

// slot_of is where a line of a tile lies whose first row is a multiple of high: begin is where that row does, and where
// the tile is on one page the others follow it.
template <int page, int high, typename I> inline I slot_of(device const long* pages, I apart, I last_page, I first, I begin, int line) {
	return page % high == 0 ? begin + line : slot_at(pages, apart, I(page), last_page, first + line);
}

// fetch_slot_pieces is fetch_pieces for rows in pages, which lie step apart.
template <typename Lines, int wide, int high, int threads, int page, typename Copies, typename T, typename I> METAL_FUNC void fetch_slot_pieces(thread Copies& copies, threadgroup T* to, device const T* from, device const long* pages, I apart_pages, I last_page, I first, I count, I step, I d, I width, int me) {
	constexpr int each = 16 / int(sizeof(T)), pieces = wide / each, apart = threads / pieces;
	const int begin = int(uint(me) / uint(pieces)), beside = int(uint(me) % uint(pieces)) * each;
	const I slot = slot_at(pages, apart_pages, I(page), last_page, first);
	from += d + beside;
	UNROLL for (int at = 0; at < high; at += apart) {
		const int line = at + begin;
		if (high % apart != 0 && line >= high) break;
		const bool within = first + line < count && d + beside < width;
		copies.take(to + Lines::place(line, beside), from + (within ? slot_of<page, high>(pages, apart_pages, last_page, first, slot, line) * step : I(0)), within ? each : 0);
	}
}

// fetch_slot_elements is fetch_elements for rows in pages. A thread looks a row up once for four elements.
template <typename Lines, int wide, int high, int threads, int page, typename T, typename S, typename I> METAL_FUNC void fetch_slot_elements(threadgroup T* to, device const S* from, device const long* pages, I apart_pages, I last_page, I first, I count, I step, I apart, I d, I width, int me) {
	constexpr int pieces = wide / 4;
	const I begin = slot_at(pages, apart_pages, I(page), last_page, first);
	for (int e = me; e < high * pieces; e += threads) {
		const int line = e / pieces, beside = e % pieces * 4;
		const I row = first + line, column = d + beside;
		float v[4] = {};
		if (row < count) {
			const I at = slot_of<page, high>(pages, apart_pages, last_page, first, begin, line) * step;
			UNROLL for (int k = 0; k < 4; k++) if (column + k < width) v[k] = loaded(from[at + (column + k) * apart]);
		}
		UNROLL for (int k = 0; k < 4; k++) to[Lines::place(line, beside + k)] = T(v[k]);
	}
}

// fetch_slot_codes is fetch_slot_elements for integers, each row of which has a scale.
template <typename Lines, int wide, int high, int threads, int page, typename T, typename S, typename I> METAL_FUNC void fetch_slot_codes(threadgroup T* to, device const S* from, device const long* pages, I apart_pages, I last_page, I first, I count, I step, I apart, device const float* scales, I scale_step, I d, I width, int me) {
	constexpr int pieces = wide / 4;
	const I begin = slot_at(pages, apart_pages, I(page), last_page, first);
	for (int e = me; e < high * pieces; e += threads) {
		const int line = e / pieces, beside = e % pieces * 4;
		const I row = first + line, column = d + beside;
		float v[4] = {};
		if (row < count) {
			const I slot = slot_of<page, high>(pages, apart_pages, last_page, first, begin, line);
			const float scale = scales[slot * scale_step];
			UNROLL for (int k = 0; k < 4; k++) if (column + k < width) v[k] = float(from[slot * step + (column + k) * apart]) * scale;
		}
		UNROLL for (int k = 0; k < 4; k++) to[Lines::place(line, beside + k)] = T(v[k]);
	}
}

// fetch_elements moves element by element, which lie apart apart, and converts them.
template <typename Lines, int wide, int high, int threads, bool grouped, typename T, typename S, typename I> METAL_FUNC void fetch_elements(threadgroup T* to, device const S* from, I first, I count, I per, I jump, I step, I apart, I d, I width, int me) {
	for (int e = me; e < high * wide; e += threads) {
		const int line = e / wide, beside = e % wide;
		const I row = first + line, column = d + beside;
		float v = 0.0f;
		if (row < count && column < width) v = loaded(from[row_at<grouped>(row, per, jump, step) + column * apart]);
		to[Lines::place(line, beside)] = T(v);
	}
}
