import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import { type ClientRequest, Exchange } from '../../src/common/core/exchange.js';
import { runRequest } from '../../src/data-plane/pipeline/chain.js';

describe('the request phase', () => {
  it('begins nothing more for an exchange that was aborted while a stage was waited for', async () => {
    const chat = { name: 'chat', format: 'openai-chat', body: 'json' } as const;
    const x = new Exchange('call-1', chat, { headers: [] } as unknown as ClientRequest);
    let begun = 0;
    const waiting = async (): Promise<undefined> => undefined;
    const beginning = (): undefined => {
      begun++;
      return undefined;
    };
    const run = runRequest([waiting, beginning, beginning], x);
    const gone = new GatewayError('client_gone', 'gone');
    x.abort(gone, () => {});
    const thrown = await Promise.resolve(run).catch((error: unknown) => error);
    expect([thrown, begun]).to.deep.equal([gone, 0]);
  });
});
