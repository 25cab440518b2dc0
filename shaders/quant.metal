// quant.metal: elements of a quantised weight [K N]. Outputs lie in blocks of 16. A line of 64 bytes holds, for each
// output of a block, the codes of 4 inputs (8 bits) or 8 inputs (4 bits): see ir.Quant.
//
// A word of 4 bytes is 4 or 8 elements of one output. Each takes a shift, a mask, a conversion, a difference and a product:
// 20 or 40 operations for 4 bytes and a share of a scale, where an M-series GPU does some 140. So memory is the limit of
// products of few rows, if neighbouring threads have neighbouring outputs: 16 of them read a line. In a tile of many rows
// the product is the limit, and an element is unpacked once for all rows of the tile.
//
// form is ir.Form, and extra what it needs: 0 nothing, 1 zero points, 2 minimums, 3 the table of the codes.

// unscaled is what a scale multiplies: a code less its zero point, or its number in the table.
template <int form, typename E> inline float unscaled(device const E* extra, int bits, int code, long at) {
	if (form == 1) return float(code) - float(loaded(extra[at]));
	if (form == 2) return float(code);
	if (form == 3) return float(loaded(extra[code]));
	return float(code - (1 << (bits - 1)));
}

// least is the minimum that is added to what is scaled.
template <int form, typename E> inline float least(device const E* extra, long at) { return form == 2 ? float(loaded(extra[at])) : 0.0f; }

template <int form, typename S, typename E> inline float dequantized(device const uchar* codes, device const S* scales, device const E* extra, int bits, int group, long lines, long groups, long k, long n) {
	const int per_line = 32 / bits;
	const long block = n / 16, lane = n % 16, line = k / per_line, place = k % per_line;
	int code = int(codes[((block * lines + line) * 16 + lane) * 4 + place % 4]);
	if (bits == 4) code = (code >> (4 * int(place / 4))) & 15;
	const long at = (block * groups + k / group) * 16 + lane;
	return loaded(scales[at]) * unscaled<form>(extra, bits, code, at) + least<form>(extra, at);
}

// code_of is code d of a word: of 4 (8 bits) or 8 (4 bits) inputs of an output.
template <int bits> inline int code_of(uint word, int d) { return int(word >> (8 * (d % 4) + 4 * (d / 4))) & ((1 << bits) - 1); }

// code_less is code d of a word, less a zero point, of which zero is 2²³ more: the bits of a code behind those of 2²³ are a
// float, from which another is subtracted exactly. That takes less time than to convert an integer. With a table it is the
// code's number there.
template <int bits, int form, typename E> inline float code_less(device const E* extra, uint word, int d, float zero) {
	if (form == 3) return float(loaded(extra[code_of<bits>(word, d)]));
	return as_type<float>(0x4b000000u | uint(code_of<bits>(word, d))) - zero;
}

// four_zeros are the zero points of four outputs, and 2²³.
template <int form, typename E> inline void four_zeros(device const E* extra, int bits, long at, thread float (&zero)[4]) {
	const float middle = form == 0 ? float(1 << (bits - 1)) : 0.0f;
	float four[4] = {middle, middle, middle, middle};
	if (form == 1) load4(extra + at, four);
	UNROLL for (int j = 0; j < 4; j++) zero[j] = 8388608.0f + four[j];
}

// four_minimums are those of four outputs.
template <int form, typename E> inline void four_minimums(device const E* extra, long at, thread float (&minimum)[4]) {
	UNROLL for (int j = 0; j < 4; j++) minimum[j] = 0.0f;
	if (form == 2) load4(extra + at, minimum);
}

// load_piece loads what 8 inputs from k on and 4 outputs from n on, multiples of 8 and 4, are made of: the words of the first 4
// or 8 inputs of each output, then those of the others, the outputs' scales, and their zero points or minimums. The weight
// begins at block `first`.
template <int bits, int form, int group, typename S, typename E, typename I> inline void load_piece(device const uchar* codes, device const S* scales, device const E* extra, long lines, long groups, long first, I k, I n, thread uint (&words)[bits], thread float (&scale)[4], thread float (&other)[4]) {
	const long block = first + n / 16, lane = n % 16, at = (block * groups + k / group) * 16 + lane;
	UNROLL for (int i = 0; i < bits; i += 4) {
		uint four[4];
		load4((device const uint*)(codes + ((block * lines + k * bits / 32 + i / 4) * 16 + lane) * 4), four);
		UNROLL for (int j = 0; j < 4; j++) words[i + j] = four[j];
	}
	load4(scales + at, scale);
	if (form == 2) four_minimums<form>(extra, at, other);
	else four_zeros<form>(extra, bits, at, other);
}

// piece_line gives w the 8 elements of output j of a piece.
template <int bits, int form, typename E> inline void piece_line(device const E* extra, thread const uint (&words)[bits], int j, float scale, float other, thread float (&w)[8]) {
	constexpr int per_word = 32 / bits;
	UNROLL for (int d = 0; d < 8; d++) {
		const float code = code_less<bits, form>(extra, words[d / per_word * 4 + j], d % per_word, form == 2 ? 8388608.0f : other);
		w[d] = form == 2 ? scale * code + other : scale * code;
	}
}

// store_cells rounds as many elements as have 16 bytes, and stores them at once.
inline void store_cells(threadgroup float* to, thread const float* w) { *(threadgroup float4*)to = float4(w[0], w[1], w[2], w[3]); }
template <typename T> inline void store_cells(threadgroup T* to, thread const float* w) {
	uint4 pairs;
	UNROLL for (int i = 0; i < 4; i++) pairs[i] = as_type<uint>(vec<T, 2>(T(w[2 * i]), T(w[2 * i + 1])));
	*(threadgroup uint4*)to = pairs;
}

// coded_line gives w the codes, less their zero points, or their numbers in the table, of 4 (8 bits) or 8 (4 bits) inputs from k on and of 4 outputs from n
// on, a multiple of 4: w[4·d + j] is that of input k + d and output n + j. line_scales are the outputs' scales there, and
// line_minimums what is added.
template <int bits, int form, typename E, int count> inline void coded_line(device const uchar* codes, device const E* extra, int group, long lines, long groups, long k, long n, thread float (&w)[count]) {
	constexpr int per_line = 32 / bits;
	const long block = n / 16, lane = n % 16;
	uint words[4];
	float zero[4];
	load4((device const uint*)(codes + ((block * lines + k / per_line) * 16 + lane) * 4), words);
	four_zeros<form>(extra, bits, (block * groups + k / group) * 16 + lane, zero);
	UNROLL for (int d = 0; d < per_line; d++) {
		UNROLL for (int j = 0; j < 4; j++) w[4 * d + j] = code_less<bits, form>(extra, words[j], d, zero[j]);
	}
}
template <typename S> inline void line_scales(device const S* scales, int group, long groups, long k, long n, thread float (&scale)[4]) {
	load4(scales + ((n / 16 * groups + k / group) * 16 + n % 16), scale);
}
template <typename E> inline void line_minimums(device const E* minimums, int group, long groups, long k, long n, thread float (&minimum)[4]) {
	load4(minimums + ((n / 16 * groups + k / group) * 16 + n % 16), minimum);
}

// transposed_line gives w elements of a weight whose rows are outputs: w[4·d + j] is that of output k + d, k a multiple of 4,
// and input n + j, and 0 beyond the length of the outputs. Of a word of 4 bits it takes a half.
template <int bits, int form, typename S, typename E> inline void transposed_line(device const uchar* codes, device const S* scales, device const E* extra, int group, long lines, long groups, long length, long k, long n, thread float (&w)[16]) {
	constexpr int per_line = 32 / bits;
	const long block = k / 16, lane = k % 16, at = (block * groups + n / group) * 16 + lane;
	const int half_line = int(n % per_line);
	uint words[4];
	float zero[4], scale[4], minimum[4];
	load4((device const uint*)(codes + ((block * lines + n / per_line) * 16 + lane) * 4), words);
	four_zeros<form>(extra, bits, at, zero);
	four_minimums<form>(extra, at, minimum);
	load4(scales + at, scale);
	UNROLL for (int d = 0; d < 4; d++) {
		const bool inside = k + d < length;
		UNROLL for (int j = 0; j < 4; j++) w[4 * d + j] = inside ? scale[d] * code_less<bits, form>(extra, words[d] >> half_line, j, zero[d]) + minimum[d] : 0.0f;
	}
}
