// quant.metal: elements of a quantised weight [K N]. Outputs lie in blocks of 16. A line of 64 bytes holds, for each
// output of a block, the codes of 4 inputs (8 bits) or 8 inputs (4 bits): see ir.Quant.
template <typename S> inline float dequantized(device const uchar* codes, device const S* scales, device const uchar* zeros, int bits, int group, long lines, long groups, long k, long n) {
	const int per_line = 32 / bits;
	const long block = n / 16, lane = n % 16, line = k / per_line, place = k % per_line;
	int code = int(codes[((block * lines + line) * 16 + lane) * 4 + place % 4]);
	if (bits == 4) code = (code >> (4 * int(place / 4))) & 15;
	const long at = (block * groups + k / group) * 16 + lane;
	const int zero = zeros ? int(zeros[at]) : 1 << (bits - 1);
	return loaded(scales[at]) * float(code - zero);
}
