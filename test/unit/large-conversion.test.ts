import { expect } from 'chai';
import { jsonBytes } from '../../src/common/json/json-bytes.js';
import { convertRequest } from '../../src/data-plane/pipeline/answer/conversion.js';
import { clientFormats } from '../../src/data-plane/providers/client-formats/index.js';
import { formats } from '../../src/data-plane/providers/formats/index.js';
import { clientApis } from '../support/client-apis.js';
import { quickest } from '../support/quickest.js';
import { expectWithinMs } from '../support/time-limits.js';

/** Milliseconds of one turn of the event loop. */
const most = 20;
const prompt = 'lorem ipsum '.repeat(436_000);

describe('a body of 5 MB', () => {
  for (const api of clientApis) {
    const client = clientFormats.get(api.format)!;
    for (const format of formats.values()) {
      if (format.name === client.name) continue;
      it(`is converted from ${client.name} to ${format.name} in one turn of at most ${most} ms`, async () => {
        const body = api.body(false, prompt);
        const asked = { model: 'some-model', stream: false };
        let best = Number.POSITIVE_INFINITY;
        for (let i = 0; i < 20 && best >= most; i++) {
          const took = await quickest(1, () => {
            const { body: out } = convertRequest(client, format, [], body, asked);
            expect(jsonBytes(out).length).to.be.greaterThan(5_000_000);
          });
          best = Math.min(best, took);
        }
        expectWithinMs(best, most);
      });
    }
  }
});
