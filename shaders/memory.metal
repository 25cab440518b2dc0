// memory.metal: elements between memory and registers.
//
// A register holds float for f16, bf16 and f32, bool for bool (a byte in memory), and the type itself for an integer. A
// thread that takes four elements at once loads them as one vector: the caller has made sure that they are aligned.
//
// There is no tile. A simdgroup that loads vectors moves 512 bytes of f32 by one instruction, 256 of f16 or bf16: whole
// lines of the cache, for the fewest instructions. Memory is the limit of what calls these functions.

// A CUDA device may begin a kernel while the one before ends. A text that calls wait_for_previous touches nothing that the one
// before writes until then, and all of its threads call it. Other texts wait as they begin.
#ifndef MSL_OVERLAPS
inline void wait_for_previous() {}
#endif

template <typename T> struct memory_of { typedef T type; };
template <> struct memory_of<bool> { typedef uchar type; };

inline float loaded(float x) { return x; }
inline float loaded(half x) { return float(x); }
inline float loaded(bfloat x) { return float(x); }
template <typename T> inline T loaded(T x) { return x; }

// load4 reads elements at..at+3; at is a multiple of 4 from an aligned start.
template <typename T, typename R> inline void load4(device const T* from, thread R (&x)[4]) {
	const vec<T, 4> v = *(device const vec<T, 4>*)from;
	x[0] = R(loaded(T(v.x)));
	x[1] = R(loaded(T(v.y)));
	x[2] = R(loaded(T(v.z)));
	x[3] = R(loaded(T(v.w)));
}

template <typename T, typename R> inline void load2(device const T* from, thread R (&x)[2]) {
	const vec<T, 2> v = *(device const vec<T, 2>*)from;
	x[0] = R(loaded(T(v.x)));
	x[1] = R(loaded(T(v.y)));
}

// low_half and high_half are the elements of 16 bits that a word has.
template <typename T> inline float low_half(uint word) { return float(as_type<vec<T, 2>>(word).x); }
template <typename T> inline float high_half(uint word) { return float(as_type<vec<T, 2>>(word).y); }
template <> inline float low_half<bfloat>(uint word) { return as_type<float>(word << 16); }
template <> inline float high_half<bfloat>(uint word) { return as_type<float>(word & 0xffff0000u); }

// unpack takes the elements of 16 bytes: eight of 16 bits, or four of 32.
template <typename T, typename R> inline void unpack(uint4 v, thread R (&x)[8]) {
	const uint words[4] = {v.x, v.y, v.z, v.w};
	for (int k = 0; k < 4; k++) {
		x[2 * k] = low_half<T>(words[k]);
		x[2 * k + 1] = high_half<T>(words[k]);
	}
}
template <typename T, typename R> inline void unpack(uint4 v, thread R (&x)[4]) {
	const uint words[4] = {v.x, v.y, v.z, v.w};
	for (int k = 0; k < 4; k++) x[k] = R(loaded(as_type<T>(words[k])));
}

// load8 is load4 of eight elements of 16 bits.
template <typename T, typename R> inline void load8(device const T* from, thread R (&x)[8]) { unpack<T>(*(device const uint4*)from, x); }

// turn_place is where what a thread reads in a turn lies: the first turns stay in places of their own, and those behind them
// take turns in a ring (a power of two).
inline uint turn_place(uint turn, uint stay, uint ring) { return min(turn, stay + ((turn - stay) & (ring - 1))); }

template <typename T, typename R> inline void store4(device T* to, thread const R (&x)[4]) {
	vec<T, 4> v;
	v.x = T(x[0]);
	v.y = T(x[1]);
	v.z = T(x[2]);
	v.w = T(x[3]);
	*(device vec<T, 4>*)to = v;
}

// store8 is store4 of eight elements of 16 bits.
template <typename T, typename R> inline void store8(device T* to, thread const R (&x)[8]) {
	uint halves[4];
	for (int k = 0; k < 4; k++) {
		vec<T, 2> two;
		two.x = T(x[2 * k]);
		two.y = T(x[2 * k + 1]);
		halves[k] = as_type<uint>(two);
	}
	*(device uint4*)to = uint4(halves[0], halves[1], halves[2], halves[3]);
}

// load_up_to4 and store_up_to4 move the first count of four elements; aligned says that the start allows a vector.
template <bool aligned, typename T, typename R> inline void load_up_to4(device const T* from, int count, thread R (&x)[4]) {
	if (aligned && count == 4) {
		load4(from, x);
		return;
	}
	for (int k = 0; k < 4; k++) {
		if (k < count) x[k] = R(loaded(from[k]));
	}
}
template <bool aligned, typename T, typename R> inline void store_up_to4(device T* to, int count, thread const R (&x)[4]) {
	if (aligned && count == 4) {
		store4(to, x);
		return;
	}
	for (int k = 0; k < 4; k++) {
		if (k < count) to[k] = T(x[k]);
	}
}
