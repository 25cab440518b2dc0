// order.metal: sorting, for top_k, sort and argsort.
//
// What is computed: the elements of a row in order, each as a key and its place in the row. A key is an
// unsigned integer that grows as the element's turn comes later; of equal elements the first comes first. So
// the order is total, the way of sorting does not matter, and one text serves all types of a size.
//
// Tile: a threadgroup sorts up to 256·N elements, N = 8 keys of 4 bytes or 4 of 8, in 18 to 20 KB of
// threadgroup memory: the largest that leaves room for a second threadgroup where there are 64 KB, as on
// NVIDIA's GPUs, and for one with Apple's 32. Each thread sorts N elements in registers; then log2(256) times
// each pair of runs is merged, and each thread finds, by a binary search along the diagonal (merge path),
// which N elements of the result are its own. So all threads always have the same work, n·log n in all, with
// two barriers a doubling; a bitonic network has n·log² n and 66 barriers for 2,048 elements. Rows of fewer
// elements share a threadgroup. What does not fit is sorted in tiles first, and merged by later launches in
// the same way, from device memory; for a few of many, tiles of the tiles' best are sorted.
//
// Bytes and operations of a tile of 2,048 f32: 8 KB are read, and 16 KB of a run or 24 KB of results written,
// less if k is less. A thread makes 28 comparisons for its own 8 elements and up to 19 in each of the 8
// mergings: 46,000 in a tile, 22 for an element, with 0.8 MB that go through threadgroup memory. On an M-series
// GPU that traffic and the latency of the searches limit the tiles. A merge from device memory reads and writes
// 8 bytes an element, and the bandwidth limits it.

// A ranked element is a key and its place. None comes after every element.
template <typename K> struct ranked {
	K key;
	uint at;
	static inline ranked of(K key, uint at) { return {key, at}; }
	static inline ranked none() { return {K(~K(0)), 0xffffffffu}; }
	inline bool before(ranked o) const { return key < o.key || (key == o.key && at < o.at); }
	template <typename P> inline void put(P to) const {
		to->key = key;
		to->at = at;
	}
	template <typename P> static inline ranked get(P from) { return {from->key, from->at}; }
};

// rising is an unsigned integer that is larger for a larger x. The two zeros are equal, and all NaN, which
// are largest. A float is looked at as bits: a GPU that takes subnormal numbers for 0 orders them all the
// same.
template <typename T> inline uint rising(T x) { return is_signed_integer<T>::value ? uint(int(x)) ^ 0x80000000u : uint(x); }
inline ulong rising(long x) { return ulong(x) ^ 0x8000000000000000ul; }
inline ulong rising(ulong x) { return x; }
inline uint rising(float x) {
	const uint bits = as_type<uint>(x);
	if ((bits & 0x7fffffffu) > 0x7f800000u) return 0xffffffffu;
	if ((bits & 0x7fffffffu) == 0) return 0x80000000u;
	return bits >> 31 ? ~bits : bits | 0x80000000u;
}

// spread is where element i lies in memory that has a place too many after each gap elements, so that threads
// which read every gap-th element hit different banks; with a gap of 0 there is none.
template <uint gap, typename I> inline I spread(I i) { return gap == 0 ? i : i + i / I(gap == 0 ? 1 : gap); }

// merged gives a thread N elements of the result of merging two sorted runs, from the one with number skip
// on: run a has na elements from a on, run b nb from b on.
template <uint gap, typename K, typename P, typename I, int N> inline void merged(P memory, I a, uint na, I b, uint nb, uint skip, thread ranked<K> (&r)[N]) {
	uint low = skip > nb ? skip - nb : 0, high = min(skip, na);
	while (low < high) {
		const uint middle = (low + high) / 2;
		const ranked<K> x = ranked<K>::get(memory + spread<gap>(a + I(middle))), y = ranked<K>::get(memory + spread<gap>(b + I(skip - 1 - middle)));
		if (y.before(x)) high = middle;
		else low = middle + 1;
	}
	uint i = low, j = skip - low;
	for (int e = 0; e < N; e++) {
		ranked<K> x = ranked<K>::none(), y = ranked<K>::none();
		if (i < na) x = ranked<K>::get(memory + spread<gap>(a + I(i)));
		if (j < nb) y = ranked<K>::get(memory + spread<gap>(b + I(j)));
		const bool second = y.before(x);
		r[e] = second ? y : x;
		if (second) j++;
		else i++;
	}
}

// tile_sorted sorts the N elements of each thread of a row together: afterwards element e of the row's thread
// x is in memory at place (e·threads + x), and in r. Memory has place for the row's N·threads elements, and
// for one more after each N.
template <typename K, int N> inline void tile_sorted(thread ranked<K> (&r)[N], threadgroup ranked<K>* memory, uint x, uint threads) {
	for (int turn = 0; turn < N; turn++) { // exchanges of neighbours, which need no index that is not a constant
		for (int e = turn % 2; e + 1 < N; e += 2) {
			const ranked<K> p = r[e], q = r[e + 1];
			const bool swap = q.before(p);
			r[e] = swap ? q : p;
			r[e + 1] = swap ? p : q;
		}
	}
	for (uint width = N; width < N * threads; width *= 2) {
		threadgroup_barrier(mem_flags::mem_threadgroup);
		for (uint e = 0; e < N; e++) r[e].put(memory + (x * (N + 1) + e));
		threadgroup_barrier(mem_flags::mem_threadgroup);
		const uint first = N * x / (2 * width) * (2 * width);
		merged<N>(memory, first, width, first + width, width, N * x - first, r);
	}
	threadgroup_barrier(mem_flags::mem_threadgroup);
	for (uint e = 0; e < N; e++) r[e].put(memory + (x * (N + 1) + e));
	threadgroup_barrier(mem_flags::mem_threadgroup);
	for (uint e = 0; e < N; e++) {
		const uint i = e * threads + x;
		r[e] = ranked<K>::get(memory + spread<N>(i));
	}
}
