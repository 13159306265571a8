// Keccak-256 as Ethereum uses it, which differs from SHA3-256 (node:crypto) in its padding. Lanes of 64 bits are two
// words of 32, low and high.

const rounds = 24;
const rate = 136;

const roundConstants = new Int32Array(2 * rounds);
const rotations = new Int32Array(25);
const moves = new Int32Array(25);

for (let round = 0, register = 1; round < rounds; round++) {
  for (let bit = 0; bit < 7; bit++) {
    const at = (1 << bit) - 1;
    if ((register & 1) !== 0) roundConstants[2 * round + (at >> 5)]! ^= 1 << (at & 31);
    register = (register << 1) ^ ((register >> 7) * 0x171);
  }
}
for (let step = 0, x = 1, y = 0; step < 24; step++) {
  const next = (2 * x + 3 * y) % 5;
  rotations[x + 5 * y] = (((step + 1) * (step + 2)) / 2) % 64;
  x = y;
  y = next;
}
for (let x = 0; x < 5; x++) for (let y = 0; y < 5; y++) moves[x + 5 * y] = y + 5 * ((2 * x + 3 * y) % 5);

const low = (lo: number, hi: number, by: number): number =>
  by === 0
    ? lo
    : by < 32
      ? (lo << by) | (hi >>> (32 - by))
      : by === 32
        ? hi
        : (hi << (by - 32)) | (lo >>> (64 - by));

function permute(state: Int32Array): void {
  const column = new Int32Array(10);
  const moved = new Int32Array(50);
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < 10; i++)
      column[i] = state[i]! ^ state[i + 10]! ^ state[i + 20]! ^ state[i + 30]! ^ state[i + 40]!;
    for (let x = 0; x < 5; x++) {
      const [lo, hi] = [column[2 * ((x + 1) % 5)]!, column[2 * ((x + 1) % 5) + 1]!];
      const dLo = column[2 * ((x + 4) % 5)]! ^ low(lo, hi, 1);
      const dHi = column[2 * ((x + 4) % 5) + 1]! ^ low(hi, lo, 1);
      for (let i = 2 * x; i < 50; i += 10) {
        state[i]! ^= dLo;
        state[i + 1]! ^= dHi;
      }
    }
    for (let i = 0; i < 25; i++) {
      const [lo, hi, by] = [state[2 * i]!, state[2 * i + 1]!, rotations[i]!];
      moved[2 * moves[i]!] = low(lo, hi, by);
      moved[2 * moves[i]! + 1] = low(hi, lo, by);
    }
    for (let i = 0; i < 50; i++) {
      const row = i - (i % 10);
      state[i] = moved[i]! ^ (~moved[row + ((i + 2) % 10)]! & moved[row + ((i + 4) % 10)]!);
    }
    state[0]! ^= roundConstants[2 * round]!;
    state[1]! ^= roundConstants[2 * round + 1]!;
  }
}

/** Keccak-256 of ASCII text of at most 135 characters, in hex. */
export function keccak256(text: string): string {
  const block = Buffer.alloc(rate);
  block.write(text, 'latin1');
  block[text.length] = 1;
  block[rate - 1]! |= 0x80;
  const state = new Int32Array(50);
  for (let i = 0; i < rate / 4; i++) state[i] = block.readInt32LE(4 * i);
  permute(state);
  const digest = Buffer.alloc(32);
  for (let i = 0; i < 8; i++) digest.writeInt32LE(state[i]!, 4 * i);
  return digest.toString('hex');
}
