import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { mailPart } from '../../src/process/parts/mail.js';
import { eventually } from '../support/gateway.js';

describe('the part of the gateway that sends mails', () => {
  it('has more time to stop than a mail has that the server does not answer', async function () {
    this.timeout(30_000);
    const dir = mkdtempSync(join(tmpdir(), 'headgate-mail-'));
    const sockets: Socket[] = [];
    const server = createServer((socket) => void sockets.push(socket));
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    let claimed = false;
    const mails = {
      async claim() {
        if (claimed) return null;
        claimed = true;
        const content = { subject: 'A test', paragraphs: ['It is one.'], facts: [] };
        const id = '00000000-0000-7000-8000-000000000000';
        return {
          id,
          kind: 'test',
          recipient: 'a@example.com',
          content,
          tries: 1,
          giveUpAt: Date.now() + 60_000,
        };
      },
      async settle() {},
    };
    const smtpUrl = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const settings = {
      smtpUrl: new Secret(smtpUrl),
      mailFrom: 'gateway@example.com',
      publicUrl: null,
      dataDir: dir,
    };
    const log = { info() {}, warn: console.warn, error: console.error };
    const given = { settings, store: { mails }, log } as unknown as Parameters<typeof mailPart.start>[0];
    try {
      const started = await mailPart.start(given);
      await eventually('the server is called', async () => sockets.length === 1);
      const began = performance.now();
      await mailPart.stop!({ ...given, ...started });
      // `part-list.ts` gives 5 s to a part that names none.
      expect(performance.now() - began).to.be.below((mailPart.stopMs as number | undefined) ?? 5000);
    } finally {
      for (const socket of sockets) socket.destroy();
      server.close();
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
