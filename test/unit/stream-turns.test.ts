import { EventEmitter } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { expect } from 'chai';
import { StreamTurns } from '../../src/control-plane/administration/grpc/stream-turns.js';
import { eventually } from '../support/gateway.js';

const streams = (count: number) =>
  Array.from({ length: count }, () => Object.assign(new EventEmitter(), { closed: false, destroyed: false }));
const asStream = (stream: unknown): ServerHttp2Stream => stream as ServerHttp2Stream;

describe('streams of the gRPC port', () => {
  it('begin in their order, some milliseconds of a turn at most', async () => {
    const all = streams(20);
    const begun: unknown[] = [];
    const turns = new StreamTurns((stream) => {
      begun.push(stream);
      for (const end = performance.now() + 3; performance.now() < end; );
    });
    for (const stream of all) turns.add(asStream(stream), {});
    expect(begun.length).to.be.within(1, 4);
    await eventually('all have begun', async () => begun.length === all.length);
    expect(begun).to.deep.equal(all);
  });

  it('that are reset or fail while they wait do not begin', async () => {
    const [slow, reset, failed, last] = streams(4);
    const begun: unknown[] = [];
    const turns = new StreamTurns((stream) => {
      begun.push(stream);
      for (const end = performance.now() + 10; performance.now() < end; );
    });
    for (const stream of [slow, reset, failed, last]) turns.add(asStream(stream), {});
    reset!.closed = true;
    failed!.destroyed = true;
    failed!.emit('error', new Error('reset'));
    await eventually('the last has begun', async () => begun.includes(last));
    expect(begun).to.deep.equal([slow, last]);
  });
});
