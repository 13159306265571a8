import { expect } from 'chai';
import { UnredactedBodies } from '../../plugins/guardrails/run/unredacted.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import type { UnredactedBody } from '../../src/common/ipc/shared.js';
import { UnredactedIntake } from '../../src/control-plane/shared-state/unredacted-bodies.js';

const body = (length: number, id = 'a'): UnredactedBody => ({
  ...{ organisationId: 'org', id, part: 'request', text: 'x'.repeat(length), cut: false },
});

describe('bodies that wait to be sealed', () => {
  it('are bounded by their bytes, large or small, while the store is away', async () => {
    for (const length of [256 * 1024, 10]) {
      const held: (() => void)[] = [];
      const intake = new UnredactedIntake(() => new Promise((done) => void held.push(done)));
      const answers: Promise<string>[] = [];
      for (let i = 0; i < 100_000 && answers.length === held.length; i++)
        answers.push(intake.take(body(length)));
      expect(await answers.at(-1)).to.equal('full');
      expect(intake.waitingBytes).to.be.within(31 * 1024 * 1024, 32 * 1024 * 1024);
      for (const done of held) done();
      expect(await answers[0]).to.equal('kept');
      await Promise.all(answers);
      expect(intake.waitingBytes).to.equal(0);
    }
  });

  it('give their bytes back where the store fails', async () => {
    const intake = new UnredactedIntake(() => Promise.reject(new Error('away')));
    for (let i = 0; i < 1000; i++) {
      const failure = await intake.take(body(256 * 1024)).catch((error: Error) => error.message);
      expect(failure).to.equal('away');
    }
    expect(intake.waitingBytes).to.equal(0);
  });

  it('are bounded in a data worker too, and those that are lost are counted', async () => {
    const asked: UnredactedBody[] = [];
    let answer: (value: 'kept' | 'full') => void = () => {};
    const answered = new Promise<'kept' | 'full'>((done) => {
      answer = done;
    });
    const shared = {
      ask: (_kind: string, question: UnredactedBody) => {
        asked.push(question);
        return answered;
      },
    };
    const bodies = new UnredactedBodies({ shared: shared as never, headerPrefixes: ['x-gateway-'] });
    const x = {
      ...{ id: 'x', request: { headers: [] } },
      principal: { keepUnredacted: true, organisationId: 'org' },
    } as unknown as Exchange;
    const empty = Buffer.from('{}');
    for (let i = 0; i < 20_000; i++) bodies.keep(x, 'request', empty);
    expect(asked.length).to.be.within(1000, 8 * 1024 * 2);
    const lost = (): number => bodies.metrics().find(({ labels }) => labels['reason'] === 'full')?.value ?? 0;
    expect(lost()).to.equal(20_000 - asked.length);
    answer('full');
    await answered;
    await new Promise((next) => setImmediate(next));
    expect(lost()).to.equal(20_000);
    bodies.keep(x, 'request', empty);
    expect(asked.at(-1)!.text).to.equal('{}');
  });
});
