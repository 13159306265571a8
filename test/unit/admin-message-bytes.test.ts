import { expect } from 'chai';
import { decode, encode } from '../../proto/codec.js';
import { messageJson, messageWire } from '../../src/control-plane/administration/grpc/message-bytes.js';
import { timeOf } from '../../src/control-plane/administration/grpc/wire.js';
import { writeMessage } from '../../src/control-plane/administration/shape/json.js';
import { updateThing } from '../support/things.js';

const { response } = updateThing();

const thing = (parts: number) => ({
  id: 'a',
  name: 'Zoë "\u2028" \ud800',
  parts: Array.from({ length: parts }, (_, i) => ({
    word: `wörd ${i}`,
    count: i,
    note: i % 3 === 0 ? null : ']},{[',
  })),
  metadata: { x: 'y' },
  at: '2030-01-31T00:00:00.500Z',
  settings: { deep: [1, null, { x: 'é' }] },
  raw: new Uint8Array([1, 2]),
  part: { word: 'w', count: 0 },
  anything: [true],
});

/** Turns of the event loop that passed meanwhile. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

describe('an answer of the administration plane', () => {
  for (const parts of [0, 1, 100, 101, 200, 1001]) {
    it(`with a list of ${parts} is the same JSON as when it is written at once`, async () => {
      const json = (await messageJson(response, thing(parts))).toString();
      expect(json).to.equal(Buffer.from(JSON.stringify(writeMessage(response, thing(parts)))).toString());
    });

    it(`with a list of ${parts} is the same message on the wire`, async () => {
      const message = { ...thing(parts), name: 'n' };
      const wire = await messageWire(response, message);
      expect(decode(response, wire)).to.deep.equal(decode(response, encode(response, message)));
    });
  }

  it('leaves the event loop to others while a long list is written', async () => {
    expect(await turnsOf(() => messageJson(response, thing(1000)))).to.be.at.least(4);
    expect(await turnsOf(() => messageWire(response, thing(1000)))).to.be.at.least(4);
  });
});

describe('a time of the administration plane', () => {
  it('agrees with Date', () => {
    const edges = [
      0, -1, 1, 999, 86_399_999, 86_400_000, -86_400_001, 253_402_300_799_999, -62_135_596_800_000,
    ];
    const some = Array.from({ length: 2000 }, (_, i) => Math.floor(Math.sin(i) * 4e12));
    for (const ms of [...edges, ...some, 1.5, -1.5]) expect(timeOf(ms)).to.equal(new Date(ms).toISOString());
    expect(() => timeOf(Number.NaN)).to.throw(RangeError);
  });
});
