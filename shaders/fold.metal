// fold.metal: what a reduction keeps while it goes through its elements.
//
// A fold has start(), take(x) for one more element, merge(f) for the fold of other elements, and value(); put and get
// move it to and from device or threadgroup memory. The size of the work alone decides in which order folds are merged, so
// that equal work gives equal bits.
//
// Tile: 32 threads merge their folds by five shuffles, and up to 32 simdgroups by one fold of each in threadgroup memory,
// 4 to 16 bytes, and five shuffles more: two barriers. For a thread that has taken 16 elements, 64 bytes of f32, that is
// less than a tenth of the time that an M-series GPU needs to read them, so memory is the limit.

// fold_sum adds up the rounding errors, too (Neumaier's variant of Kahan's sum), because a thread adds thousands of
// numbers one after the other. That costs no time: memory is the limit, not arithmetic.
template <typename T> struct fold_sum {
	T sum;
	static inline fold_sum start() { return {T(0)}; }
	inline void take(T x) { sum = op_add(sum, x); }
	inline void merge(fold_sum f) { sum = op_add(sum, f.sum); }
	inline T value() const { return sum; }
	template <typename P> inline void put(P to) const { to->sum = sum; }
	template <typename P> static inline fold_sum get(P from) { return {from->sum}; }
};
template <> struct fold_sum<float> {
	float sum, lost;
	static inline fold_sum start() { return {0.0f, 0.0f}; }
	inline void take(float x) {
		const float t = sum + x;
		lost += fabs(sum) >= fabs(x) ? (sum - t) + x : (x - t) + sum;
		sum = t;
	}
	inline void merge(fold_sum f) {
		take(f.sum);
		lost += f.lost;
	}
	inline float value() const { return isfinite(sum) ? sum + lost : sum; }
	template <typename P> inline void put(P to) const {
		to->sum = sum;
		to->lost = lost;
	}
	template <typename P> static inline fold_sum get(P from) { return {from->sum, from->lost}; }
};

// fold_short adds up few numbers, a thread's share of a row that it holds: their errors are small, and arithmetic would be
// the limit of a row kernel that did more.
template <typename T> struct fold_short {
	T sum;
	static inline fold_short start() { return {T(0)}; }
	inline void take(T x) { sum = op_add(sum, x); }
	inline void merge(fold_short f) { take(f.sum); }
	inline T value() const { return sum; }
	template <typename P> inline void put(P to) const { to->sum = sum; }
	template <typename P> static inline fold_short get(P from) { return {from->sum}; }
};

template <typename T> struct fold_prod {
	T product;
	static inline fold_prod start() { return {T(1)}; }
	inline void take(T x) { product = op_mul(product, x); }
	inline void merge(fold_prod f) { take(f.product); }
	inline T value() const { return product; }
	template <typename P> inline void put(P to) const { to->product = product; }
	template <typename P> static inline fold_prod get(P from) { return {from->product}; }
};

// lowest and highest of a type, -Inf and Inf of a float.
template <typename T> struct extremes {
	static inline T low() { return numeric_limits<T>::lowest(); }
	static inline T high() { return numeric_limits<T>::max(); }
};
template <> struct extremes<float> {
	static inline float low() { return -INFINITY; }
	static inline float high() { return INFINITY; }
};
template <> struct extremes<bool> {
	static inline bool low() { return false; }
	static inline bool high() { return true; }
};

template <typename T> struct fold_reduce_max {
	T best;
	static inline fold_reduce_max start() { return {extremes<T>::low()}; }
	inline void take(T x) { best = op_max(best, x); }
	inline void merge(fold_reduce_max f) { take(f.best); }
	inline T value() const { return best; }
	template <typename P> inline void put(P to) const { to->best = best; }
	template <typename P> static inline fold_reduce_max get(P from) { return {from->best}; }
};

// greatest is the greater one. A NaN stays.
inline float greatest(float x, float y) {
#ifdef MSL_MAX
	return MSL_MAX(x, y);
#else
	return y > x || y != y ? y : x;
#endif
}

// fold_greatest is fold_reduce_max for a number that is subtracted: it does not tell 0 from -0. A NaN stays.
template <typename T> struct fold_greatest {
	T best;
	static inline fold_greatest start() { return {extremes<T>::low()}; }
	inline void take(T x) { best = greatest(best, x); }
	inline void merge(fold_greatest f) { take(f.best); }
	inline T value() const { return best; }
	template <typename P> inline void put(P to) const { to->best = best; }
	template <typename P> static inline fold_greatest get(P from) { return {from->best}; }
};

template <typename T> struct fold_reduce_min {
	T best;
	static inline fold_reduce_min start() { return {extremes<T>::high()}; }
	inline void take(T x) { best = op_min(best, x); }
	inline void merge(fold_reduce_min f) { take(f.best); }
	inline T value() const { return best; }
	template <typename P> inline void put(P to) const { to->best = best; }
	template <typename P> static inline fold_reduce_min get(P from) { return {from->best}; }
};

// from_lane is the x of the thread whose lane differs in the bits of mask. A shuffle knows types of two and four bytes
// only.
template <typename T> inline T from_lane(T x, ushort mask) { return T(simd_shuffle_xor(int(x), mask)); }
inline float from_lane(float x, ushort mask) { return simd_shuffle_xor(x, mask); }
inline uint from_lane(uint x, ushort mask) { return simd_shuffle_xor(x, mask); }
inline ulong from_lane(ulong x, ushort mask) {
	return ulong(simd_shuffle_xor(uint(x >> 32), mask)) << 32 | ulong(simd_shuffle_xor(uint(x), mask));
}
inline long from_lane(long x, ushort mask) { return long(from_lane(ulong(x), mask)); }

template <typename T> inline fold_sum<T> from_lane(fold_sum<T> f, ushort mask) { return {from_lane(f.sum, mask)}; }
inline fold_sum<float> from_lane(fold_sum<float> f, ushort mask) { return {from_lane(f.sum, mask), from_lane(f.lost, mask)}; }
template <typename T> inline fold_short<T> from_lane(fold_short<T> f, ushort mask) { return {from_lane(f.sum, mask)}; }
template <typename T> inline fold_greatest<T> from_lane(fold_greatest<T> f, ushort mask) { return {from_lane(f.best, mask)}; }
template <typename T> inline fold_prod<T> from_lane(fold_prod<T> f, ushort mask) { return {from_lane(f.product, mask)}; }
template <typename T> inline fold_reduce_max<T> from_lane(fold_reduce_max<T> f, ushort mask) { return {from_lane(f.best, mask)}; }
template <typename T> inline fold_reduce_min<T> from_lane(fold_reduce_min<T> f, ushort mask) { return {from_lane(f.best, mask)}; }

// simd_folded merges the folds of a simdgroup of 32 threads; thread 0 of it has the result.
template <typename F> inline F simd_folded(F f) {
	for (ushort mask = 16; mask > 0; mask /= 2) f.merge(from_lane(f, mask));
	return f;
}

// group_folded merges the folds of a whole threadgroup of simds simdgroups; its thread 0 has the result. Space has a
// place for each simdgroup.
template <typename F> inline F group_folded(F f, threadgroup F* space, uint lane, uint simd, uint simds) {
	f = simd_folded(f);
	if (simds == 1) return f; // uniform: simds is the same in all threads
	threadgroup_barrier(mem_flags::mem_threadgroup);
	if (lane == 0) f.put(space + simd);
	threadgroup_barrier(mem_flags::mem_threadgroup);
	F g = F::start();
	if (lane < simds) g = F::get(space + lane);
	return simd_folded(g);
}

// column_folded merges the folds of threads that stand in a column: y of height (a power of two), below each other in
// a threadgroup that is width wide. The thread with y 0 has the result. Space has a place for each thread.
template <typename F> inline F column_folded(F f, threadgroup F* space, uint x, uint y, uint width, uint height) {
	threadgroup_barrier(mem_flags::mem_threadgroup);
	f.put(space + (y * width + x));
	for (uint half_height = height / 2; half_height > 0; half_height /= 2) {
		threadgroup_barrier(mem_flags::mem_threadgroup);
		if (y < half_height) {
			f.merge(F::get(space + ((y + half_height) * width + x)));
			f.put(space + (y * width + x));
		}
	}
	return f;
}

// simd_value gives all threads of a simdgroup the value of their folds together; group_value all threads of a
// threadgroup. Space has two floats for each simdgroup, which are free: since a thread has read there, all have met.
template <typename F> inline float simd_value(F f) { return simd_broadcast_first(simd_folded(f).value()); }
template <typename F> inline float group_value(F f, threadgroup float* space, uint lane, uint simd, uint simds) {
	threadgroup F* folds = (threadgroup F*)space;
	f = simd_folded(f);
	if (lane == 0) f.put(folds + simd);
	threadgroup_barrier(mem_flags::mem_threadgroup);
	F g = F::start();
	if (lane < simds) g = F::get(folds + lane);
	return simd_value(g);
}

// powers are the greatest element of those that a thread, or several, have seen, and the sum of exp(x − it) over them. So
// each thread adds up by a greatest element of its own, and one meeting of the threads gives both numbers.
struct powers {
	float top, sum;
	static inline powers start() { return {-INFINITY, 0.0f}; }

	// base is what is subtracted: of elements that are all -Inf nothing, so that they add 0.
	inline float base() const { return top == -INFINITY ? 0.0f : top; }

	// raise makes room for an element that may be the greatest so far.
	inline void raise(float x) {
		const float high = greatest(top, x);
		if (high == top) return;
		const float share = quick_exp(top - high);
		top = high;
		sum *= share;
	}

	// total is the sum of all; where the greatest element is infinite there is none, and it counts as 1.
	inline float total() const { return isinf(top) ? 1.0f : sum; }
};
inline powers simd_powers(powers p) {
	const powers all = {simd_value(fold_greatest<float>{p.top}), 0.0f};
	const float share = p.top == all.top ? 1.0f : op_exp(p.top - all.base());
	return {all.top, simd_value(fold_short<float>{p.sum * share})};
}
inline powers group_powers(powers p, threadgroup float* space, uint lane, uint simd, uint simds) {
	p = simd_powers(p);
	if (lane == 0) {
		space[2 * simd] = p.top;
		space[2 * simd + 1] = p.sum;
	}
	threadgroup_barrier(mem_flags::mem_threadgroup);
	powers q = powers::start();
	if (lane < simds) q = {space[2 * lane], space[2 * lane + 1]};
	return simd_powers(q);
}

// fold_arg keeps the first of the best elements, and where it is. Better is better_max or better_min; a NaN is better
// than every number.
struct better_max {
	static inline bool is(float x, float y) { return x > y || (isnan(x) && !isnan(y)); }
	template <typename T> static inline bool is(T x, T y) { return x > y; }
};
struct better_min {
	static inline bool is(float x, float y) { return x < y || (isnan(x) && !isnan(y)); }
	template <typename T> static inline bool is(T x, T y) { return x < y; }
};
template <typename T, typename Better> struct fold_arg {
	T best;
	long at; // -1 before the first element
	static inline fold_arg start() { return {T(0), -1}; }
	inline void take(T x, long i) {
		if (at < 0 || Better::is(x, best) || (!Better::is(best, x) && i < at)) {
			best = x;
			at = i;
		}
	}
	inline void merge(fold_arg f) {
		if (f.at >= 0) take(f.best, f.at);
	}
	inline long value() const { return at < 0 ? 0 : at; }
	template <typename P> inline void put(P to) const {
		to->best = best;
		to->at = at;
	}
	template <typename P> static inline fold_arg get(P from) { return {from->best, from->at}; }
};
template <typename T, typename B> inline fold_arg<T, B> from_lane(fold_arg<T, B> f, ushort mask) {
	return {from_lane(f.best, mask), from_lane(f.at, mask)};
}

// up_lane is the x of the thread whose lane is lower by so many. The lowest threads get their own.
template <typename T> inline T up_lane(T x, ushort by) { return T(simd_shuffle_up(int(x), by)); }
inline float up_lane(float x, ushort by) { return simd_shuffle_up(x, by); }
inline uint up_lane(uint x, ushort by) { return simd_shuffle_up(x, by); }
inline ulong up_lane(ulong x, ushort by) { return ulong(simd_shuffle_up(uint(x >> 32), by)) << 32 | ulong(simd_shuffle_up(uint(x), by)); }
inline long up_lane(long x, ushort by) { return long(up_lane(ulong(x), by)); }

// simd_running is the sum of x over the thread's lane and those below it.
template <typename T> inline T simd_running(T x, uint lane) {
	for (ushort by = 1; by < 32; by *= 2) {
		const T below = up_lane(x, by);
		if (lane >= by) x = op_add(below, x);
	}
	return x;
}

// row_earlier is the sum of x over the threads of a row before this one; all is that over the whole row. A row has so many
// simdgroups, and sums a place for each of the threadgroup's.
template <typename T> inline T row_earlier(T x, threadgroup T* sums, uint lane, uint simd, uint simds, thread T& all) {
	const T run = simd_running(x, lane), below = up_lane(run, 1);
	threadgroup_barrier(mem_flags::mem_threadgroup);
	if (lane == 31) sums[simd] = run;
	threadgroup_barrier(mem_flags::mem_threadgroup);
	const uint first = simd / simds * simds;
	T earlier = T(0);
	all = T(0);
	for (uint s = first; s < first + simds; s++) {
		if (s == simd) earlier = all;
		all = op_add(all, sums[s]);
	}
	return lane == 0 ? earlier : op_add(earlier, below);
}
