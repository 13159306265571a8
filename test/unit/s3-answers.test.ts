import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { s3Destination } from '../../src/control-plane/exports/s3-destination.js';
import { expectWithinMs } from '../support/time-limits.js';

/** Answers with this status and a body that does not end. */
async function startEndless(status: number): Promise<{ server: Server; sent(): number; url: string }> {
  let sent = 0;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/xml' });
    const piece = Buffer.alloc(64 * 1024, '<a>');
    const more = (): void => {
      if (response.destroyed) return;
      sent += piece.length;
      if (response.write(piece)) setImmediate(more);
      else response.once('drain', more);
    };
    more();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, sent: () => sent, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe('answers of S3', function () {
  this.timeout(20_000);
  const before = { ...process.env };
  beforeEach(() => {
    Object.assign(process.env, {
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 'b',
      AWS_REGION: 'eu-west-1',
    });
  });
  afterEach(() => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION'])
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
  });

  for (const status of [200, 404])
    it(`with status ${status} that do not end are read up to a megabyte`, async () => {
      const { server, sent, url } = await startEndless(status);
      try {
        const began = performance.now();
        const destination = await s3Destination('s3://bucket/exports', url);
        const failed = await destination.open('a.jsonl', 1, 'text/plain').catch((error: Error) => error);
        expect(failed).to.be.instanceOf(Error);
        expectWithinMs(performance.now() - began, 5000);
        // What is on the way between the two is sent, but not kept: three tries of them.
        expect(sent()).to.be.below(48 * 1024 * 1024);
      } finally {
        server.closeAllConnections();
        server.close();
      }
    });
});
