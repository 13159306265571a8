import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import type { FromWorker } from '../../src/common/ipc/messages.js';
import { LookupChannel } from '../../src/data-plane/directory/channel.js';
import { WorkerDirectory } from '../../src/data-plane/directory/directory.js';
import { OpenQuestions } from '../../src/data-plane/directory/waiting.js';
import { pause } from '../support/gateway.js';

const failure = (asked: Promise<unknown>): Promise<unknown> => asked.then(() => null).catch((error) => error);

describe('questions to a control process that does not answer', () => {
  it('refuse the request with 503 after their time, and ask again for the next one', async () => {
    const asked: Extract<FromWorker, { t: 'lookup' }>[] = [];
    const channel = new LookupChannel((message) => asked.push(message as (typeof asked)[0]), 30);
    const directory = new WorkerDirectory({ channel, compile: () => null as never });
    const error = await failure(Promise.resolve(directory.provider('ws', 'slug')));
    expect(error).to.be.instanceOf(GatewayError).and.include({ code: 'store_unavailable', status: 503 });
    const next = directory.provider('ws', 'slug');
    channel.answered(asked[0]!.id, null);
    channel.answered(asked[1]!.id, null);
    expect(await next).to.equal(null);
  });

  it('leave room for others, and have late answers undone where the caller wants that', async () => {
    const questions = new OpenQuestions();
    const posted: number[] = [];
    const post = (id: number) => posted.push(id);
    const late: unknown[] = [];
    await failure(questions.ask(post, 10));
    expect(await failure(questions.ask(post, 10, (value) => late.push(value)))).to.match(/within 10 ms/);
    for (const id of posted) questions.answered(id, `answer ${id}`);
    for (const id of posted) questions.answered(id, 'again');
    expect(late).to.deep.equal(['answer 2']);
  });

  it('take an answer that came while the process was stopped', async () => {
    const questions = new OpenQuestions();
    const asked = questions.ask<string>((id) => {
      setTimeout(() => setImmediate(() => questions.answered(id, 'an answer')), 10);
    }, 150);
    const until = performance.now() + 200;
    // As SIGSTOP would: both timers are due when it goes on.
    await pause(5);
    while (performance.now() < until);
    expect(await asked).to.equal('an answer');
  });
});
