// Programs that compute, each of the size its input says, and answer a checksum.
#include "extism.h"

static u64 size(void) { return extism_input_load_u64(0); }

static u32 seed;

static u32 next(void) { return seed = seed * 1664525u + 1013904223u; }

static u8 text[1 << 20];

static void fill(u32 n) {
	seed = 1;
	for (u32 i = 0; i < n; i++) text[i] = (u8)(next() >> 24);
}

// SHA-256 of n KiB.

static const u32 K[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
	0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
	0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
	0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static u32 ror(u32 x, int n) { return x >> n | x << (32 - n); }

static void block(u32 h[8], const u8 *p) {
	u32 w[64], v[8];
	for (int i = 0; i < 16; i++) w[i] = (u32)p[4 * i] << 24 | (u32)p[4 * i + 1] << 16 | (u32)p[4 * i + 2] << 8 | p[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		u32 s0 = ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ w[i - 15] >> 3;
		u32 s1 = ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ w[i - 2] >> 10;
		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
	for (int i = 0; i < 8; i++) v[i] = h[i];
	for (int i = 0; i < 64; i++) {
		u32 t1 = v[7] + (ror(v[4], 6) ^ ror(v[4], 11) ^ ror(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + K[i] + w[i];
		u32 t2 = (ror(v[0], 2) ^ ror(v[0], 13) ^ ror(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		v[7] = v[6], v[6] = v[5], v[5] = v[4], v[4] = v[3] + t1, v[3] = v[2], v[2] = v[1], v[1] = v[0], v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++) h[i] += v[i];
}

EXPORT(hash) int hash(void) {
	u32 h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	u32 n = (u32)size() << 10;
	fill(n);
	for (u32 i = 0; i < n; i += 64) block(h, text + i);
	return answer((u64)h[0] << 32 | h[7]);
}

// Quicksort of n numbers.

static u32 numbers[1 << 17];

static void sort_range(int lo, int hi) {
	while (lo < hi) {
		u32 pivot = numbers[(lo + hi) / 2];
		int i = lo, j = hi;
		while (i <= j) {
			while (numbers[i] < pivot) i++;
			while (numbers[j] > pivot) j--;
			if (i <= j) {
				u32 t = numbers[i];
				numbers[i++] = numbers[j];
				numbers[j--] = t;
			}
		}
		sort_range(lo, j);
		lo = i;
	}
}

EXPORT(sort) int sort(void) {
	int n = (int)size();
	seed = 7;
	for (int i = 0; i < n; i++) numbers[i] = next();
	sort_range(0, n - 1);
	u64 sum = 0;
	for (int i = 0; i < n; i++) sum = sum * 31 + numbers[i];
	return answer(sum);
}

// The product of two n by n matrices.

static double a[256][256], b[256][256], c[256][256];

EXPORT(matrix) int matrix(void) {
	int n = (int)size();
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) a[i][j] = i * 0.5 + j, b[i][j] = i - j * 0.25;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			double s = 0;
			for (int k = 0; k < n; k++) s += a[i][k] * b[k][j];
			c[i][j] = s;
		}
	double sum = 0;
	for (int i = 0; i < n; i++) sum += c[i][n - 1 - i];
	return answer((u64)(long long)sum);
}

// In how many ways n queens stand on a board.

static int place(u32 all, u32 columns, u32 left, u32 right) {
	if (columns == all) return 1;
	int ways = 0;
	for (u32 free = all & ~(columns | left | right); free;) {
		u32 bit = free & -free;
		free ^= bit;
		ways += place(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
	}
	return ways;
}

EXPORT(recursion) int recursion(void) { return answer((u64)place((1u << size()) - 1, 0, 0, 0)); }

// How often a few words of four letters occur in n KiB.

EXPORT(search) int search(void) {
	static const char words[5][5] = {"abca", "bcab", "cabc", "aabb", "dddd"};
	u32 n = (u32)size() << 10, found = 0;
	fill(n);
	for (u32 i = 0; i < n; i++) text[i] = 'a' + text[i] % 4;
	for (int w = 0; w < 5; w++)
		for (u32 i = 0; i + 4 <= n; i++) {
			u32 k = 0;
			while (k < 4 && text[i + k] == (u8)words[w][k]) k++;
			found += k == 4;
		}
	return answer(found);
}
