// map_6d18b84c3de7: silu, cast, mul, cast
struct map_6d18b84c3de7_args {
	device const float* x0;
	device const bfloat* x1;
	float x2;
	device half* y0;
	int n0;
	int n1;
	int x0_1;
	int y0_1;
};

[[max_total_threads_per_threadgroup(256)]] kernel void map_6d18b84c3de7(constant map_6d18b84c3de7_args* args [[buffer(0)]], uint3 at [[thread_position_in_grid]], uint3 all [[threads_per_grid]]) {
	constant map_6d18b84c3de7_args& a = *args;
	const float x2 = convert<float>::from(a.x2);
	for (int i1 = int(at.y); i1 < a.n1; i1 += int(all.y)) {
		for (int i0 = 4 * int(at.x); i0 < a.n0; i0 += 4 * int(all.x)) {
			float x0[4];
			load4(a.x0 + (i0 + i1 * a.x0_1), x0);
			float x1[4];
			load4(a.x1 + (i0), x1);
			float y0[4];
			UNROLL for (uint k = 0; k < 4; k++) {
				const float t0 = op_silu(x0[k]);
				const float t1 = convert<float>::from(x1[k]);
				const float t2 = op_mul(t0, t1);
				const float t3 = op_mul(t2, x2);
				const float t4 = round_half(convert<float>::from(t3));
				y0[k] = t4;
			}
			store4(a.y0 + (i0 + i1 * a.y0_1), y0);
		}
	}
}
