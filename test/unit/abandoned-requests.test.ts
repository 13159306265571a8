import { expect } from 'chai';
import type { WorkerInit } from '../../src/common/ipc/messages.js';
import type { Settlement } from '../../src/common/ledger/record.js';
import { type Asked, BareWorker, soon } from '../support/bare-worker.js';

const body = {
  ...{ model: 'gpt-4o', max_tokens: 500, n: 2 },
  messages: [{ role: 'user', content: 'Hello' }],
};
const usage = { prompt_tokens: 8, completion_tokens: 100, total_tokens: 108 };
/** Published prices of gpt-4o: 2.50 and 10.00 dollars a million tokens. Picodollars a token. */
const [inputPrice, outputPrice] = [2_500_000, 10_000_000];

const answer = ({ handler }: Asked): void => {
  handler.head(200, ['content-type', 'application/json']);
  handler.data(Buffer.from(JSON.stringify({ model: 'gpt-4o', choices: [], usage })));
  handler.end();
};
const chunk = (more: object): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'gpt-4o', ...more })}\n\n`);
const text = chunk({ choices: [{ index: 0, delta: { content: 'Hel' } }] });

describe('a request whose client leaves', () => {
  const workers: BareWorker[] = [];

  afterEach(() => {
    for (const worker of workers.splice(0)) worker.close();
  });

  async function start(whenClientLeaves: WorkerInit['whenClientLeaves']): Promise<BareWorker> {
    const worker = await new BareWorker().start({ whenClientLeaves });
    workers.push(worker);
    return worker;
  }
  async function rowOf(worker: BareWorker): Promise<Settlement> {
    await soon('it is settled', () => worker.settled.length === 1);
    return worker.settled[0]!;
  }

  it('before anything came has the longest answer that it allows in its row, since the provider may bill that', async () => {
    const worker = await start('cancel');
    const [client, asked] = await worker.asking(worker.key(), { body });
    client.disconnect();
    expect(asked.cancelled).to.equal(true);
    const row = await rowOf(worker);
    expect([row.status, row.error]).to.deep.equal([499, 'client_gone']);
    expect(row.usage).to.include({ output: 1000, source: 'counted' });
    expect(row.cost).to.equal(1000 * outputPrice);
  });

  it('before anything came, and allows any length, has its prompt in its row', async () => {
    const worker = await start('cancel');
    const [client] = await worker.asking(worker.key());
    client.disconnect();
    expect((await rowOf(worker)).usage).to.include({ output: 0 });
  });

  it('in the middle of a stream has what came, and not what was held back', async () => {
    const worker = await start('cancel');
    const [client, asked] = await worker.streaming(worker.key());
    client.disconnect();
    expect(asked.cancelled).to.equal(true);
    expect((await rowOf(worker)).usage.output).to.be.below(1000);
  });

  it('and whose key was revoked has the same in its row as one whose client has left', async () => {
    const worker = await start('cancel');
    const key = worker.key();
    await worker.asking(key, { body });
    worker.change(key, null);
    worker.forget(key);
    const row = await rowOf(worker);
    expect(row.error).to.equal('key_revoked');
    expect(row.usage).to.include({ output: 1000, source: 'counted' });
  });

  describe('that was hedged', () => {
    const config = JSON.stringify({
      strategy: { mode: 'fallback', hedge: { percentile: 50, min_delay: 1, max_extra: 1 } },
      targets: [{ provider: '@p' }, { provider: '@p' }],
    });

    it('has the longest answer in the row for the loser, where no stream was asked for, since the provider may bill that', async () => {
      const worker = await start('cancel');
      worker.ask(worker.key(), { body, config });
      await soon('both are asked', () => worker.asked.length === 2);
      answer(worker.asked[1]!);
      const row = await rowOf(worker);
      const [lost, won] = row.attempts;
      expect(lost).to.include({ error: 'hedge_lost' });
      expect(lost!.usage).to.include({ output: 1000, source: 'counted' });
      expect(won!.usage).to.include({ output: 100, source: 'provider' });
      expect(row.cost).to.equal((lost!.cost ?? 0) + 8 * inputPrice + 100 * outputPrice);
      expect(lost!.cost).to.be.at.least(1000 * outputPrice);
    });

    it('has only its prompt in the row for the loser, where a stream was asked for, since providers stop these', async () => {
      const worker = await start('cancel');
      worker.ask(worker.key(), { body: { ...body, stream: true }, config });
      await soon('both are asked', () => worker.asked.length === 2);
      const { handler } = worker.asked[1]!;
      handler.head(200, ['content-type', 'text/event-stream']);
      handler.data(text);
      handler.data(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
      handler.data(chunk({ choices: [], usage }));
      handler.data(Buffer.from('data: [DONE]\n\n'));
      handler.end();
      const [lost] = (await rowOf(worker)).attempts;
      expect(lost).to.include({ error: 'hedge_lost' });
      expect(lost!.usage).to.include({ output: 0 });
    });
  });

  describe('where answers are read to their end', () => {
    it('has the usage that the provider reports', async () => {
      const worker = await start('finish');
      const [client, asked] = await worker.asking(worker.key(), { body });
      client.disconnect();
      await new Promise((turn) => setTimeout(turn, 20));
      expect([asked.cancelled, worker.settled.length, worker.pipeline.abandoned?.size]).to.deep.equal([
        false,
        0,
        1,
      ]);
      answer(asked);
      const row = await rowOf(worker);
      expect([row.status, row.error]).to.deep.equal([499, 'client_gone']);
      expect(row.usage).to.include({ input: 8, output: 100, source: 'provider' });
      expect(row.cost).to.equal(8 * inputPrice + 100 * outputPrice);
      expect(worker.pipeline.abandoned?.size).to.equal(0);
    });

    it('has it of a stream too, however much of it comes after the client has left', async () => {
      const worker = await start('finish');
      const [client, asked] = await worker.streaming(worker.key());
      const seen = client.text;
      client.disconnect();
      for (let i = 0; i < 2000; i++) asked.handler.data(text);
      asked.handler.data(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
      asked.handler.data(chunk({ choices: [], usage }));
      asked.handler.data(Buffer.from('data: [DONE]\n\n'));
      asked.handler.end();
      const row = await rowOf(worker);
      expect([row.status, row.error]).to.deep.equal([200, 'client_gone']);
      expect(row.usage).to.include({ input: 8, output: 100, source: 'provider' });
      expect(seen).to.include('Hel');
    });

    it('asks no other target, and the same one not again', async () => {
      const worker = await start('finish');
      const config = JSON.stringify({
        strategy: { mode: 'fallback' },
        retry: { attempts: 2, on_status_codes: [500] },
        targets: [{ provider: '@p' }, { provider: '@p' }],
      });
      const [client, asked] = await worker.asking(worker.key(), { body, config });
      client.disconnect();
      asked.handler.head(500, ['content-type', 'application/json']);
      asked.handler.data(Buffer.from('{"error":{"message":"no"}}'));
      asked.handler.end();
      const row = await rowOf(worker);
      expect(worker.asked.length).to.equal(1);
      expect([row.status, row.error, row.cost]).to.deep.equal([499, 'client_gone', null]);
      expect(worker.pipeline.abandoned?.size).to.equal(0);
    });

    it('ends at once while nothing was sent for it', async () => {
      const worker = await start('finish');
      let look = (): void => {};
      worker.slow = new Promise((done) => {
        look = done;
      });
      const client = worker.ask(worker.key(), { body });
      client.disconnect();
      look();
      await new Promise((turn) => setTimeout(turn, 20));
      expect(worker.asked.length).to.equal(0);
      expect(worker.pipeline.abandoned?.size).to.equal(0);
    });

    it('ends at once beyond a quarter of what a worker reads on, for one workspace, and others go on', async () => {
      const worker = await start('finish');
      Object.assign(worker.pipeline.abandoned!, { most: 8 });
      const leave = async (key: string): Promise<Asked> => {
        const [client, asked] = await worker.asking(key, { body });
        client.disconnect();
        return asked;
      };
      const key = worker.key();
      const all = [await leave(key), await leave(key), await leave(key)];
      expect(all.map(({ cancelled }) => cancelled)).to.deep.equal([false, false, true]);
      const other = await leave(worker.key({ workspaceId: 'other' }));
      expect(other.cancelled).to.equal(false);
      for (const asked of [...all, other]) if (!asked.cancelled) answer(asked);
      await soon('all are settled', () => worker.settled.length === 4);
      expect(worker.settled.map(({ usage: { source } }) => source).sort()).to.deep.equal([
        ...['counted', 'provider', 'provider', 'provider'],
      ]);
      expect(worker.pipeline.abandoned?.size).to.equal(0);
    });
  });
});
