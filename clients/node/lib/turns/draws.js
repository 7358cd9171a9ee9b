// SPDX-License-Identifier: MIT
// Randomness that follows from the history: SipHash-2-4 under the seed of the execution, over (seq of the
// last message, number of the draw, word).  Replay draws the same, and nothing is recorded for it (S13).
// tests/protocol/vectors.json has values made with the server's own functions.  Called by run.js.

const WORD = (1n << 64n) - 1n;
const KEY1 = 0x7061776c2d647261n; // "pawl-dra"

const rotate = (x, n) => ((x << n) | (x >> (64n - n))) & WORD;

export function draw(seed, messageSeq, number, word) {
  let a = seed ^ 0x736f6d6570736575n, b = KEY1 ^ 0x646f72616e646f6dn;
  let c = seed ^ 0x6c7967656e657261n, d = KEY1 ^ 0x7465646279746573n;
  const rounds = (n) => {
    for (; n > 0; n--) {
      a = (a + b) & WORD; b = rotate(b, 13n) ^ a; a = rotate(a, 32n);
      c = (c + d) & WORD; d = rotate(d, 16n) ^ c;
      a = (a + d) & WORD; d = rotate(d, 21n) ^ a;
      c = (c + b) & WORD; b = rotate(b, 17n) ^ c; c = rotate(c, 32n);
    }
  };
  for (const block of [BigInt(messageSeq), BigInt(number), BigInt(word), 24n << 56n]) { // 24 bytes long
    d ^= block;
    rounds(2);
    a ^= block;
  }
  c ^= 0xffn;
  rounds(4);
  return a ^ b ^ c ^ d;
}

/** Of `attrs.seed`: up to 16 hexadecimal digits; anything else is 0. */
export function seedOf(text) {
  return /^[0-9a-fA-F]{1,16}$/.test(text ?? "") ? BigInt(`0x${text}`) : 0n;
}

export function uuidOf(seed, messageSeq, number, now) {
  const bytes = Buffer.alloc(22);
  bytes.writeUIntBE(Math.max(0, now) % 2 ** 48, 0, 6);
  bytes.writeBigUInt64LE(draw(seed, messageSeq, number, 1), 6);
  bytes.writeBigUInt64LE(draw(seed, messageSeq, number, 2), 14);
  bytes[6] = 0x70 | (bytes[6] & 15);
  bytes[8] = 0x80 | (bytes[8] & 63);
  const hex = bytes.toString("hex", 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** 53 bits of it, in [0, 1). */
export function fraction(bits) {
  return Number(bits >> 11n) * 2 ** -53;
}
