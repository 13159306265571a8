import { expect } from 'chai';
import type { Sink } from '../../src/common/bytes/body.js';
import type { GatewayError } from '../../src/common/core/errors.js';
import { Upload, type UploadTarget } from '../../src/data-plane/upstream/upload.js';

/** A connection that takes nothing until it is asked to, and is full after 64 KiB. */
class SlowTarget implements UploadTarget {
  text = '';
  writes = 0;
  #kept = 0;
  #taken: (() => void)[] = [];

  cork(): void {}
  uncork(): void {}

  write(bytes: Buffer | string, taken?: () => void): boolean {
    this.text += bytes.toString('latin1');
    this.writes += 1;
    this.#kept += bytes.length;
    if (taken !== undefined) this.#taken.push(taken);
    return this.#kept < 64 * 1024;
  }

  take(): void {
    this.#kept = 0;
    for (const taken of this.#taken.splice(0)) taken();
  }
}

/** What chunks hold, the last of them included. */
function dechunked(text: string): string {
  let body = '';
  for (let at = 0; at < text.length; ) {
    const lineEnd = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    body += text.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
    if (size === 0) expect(at).to.equal(text.length);
  }
  return body;
}

describe('an upload in one-byte chunks to an upstream that does not read', () => {
  const watcher = {
    ended: 0,
    uploadHeld() {},
    uploadWanted() {},
    uploadEnded() {
      this.ended += 1;
    },
    uploadFailed(error: GatewayError) {
      throw error;
    },
  };
  const started = (length: number): { upload: Upload; target: SlowTarget; sink: Sink } => {
    const upload = new Upload({ start() {}, resume() {}, cancel() {} }, length, watcher);
    const target = new SlowTarget();
    upload.start(target);
    return { upload, target, sink: upload };
  };
  const bytes = Array.from({ length: 100_000 }, (_, i) => String.fromCharCode(97 + (i % 26)));

  for (const length of [-1, bytes.length]) {
    const how = length === -1 ? 'chunked' : 'of known length';
    it(`is written in few pieces, and stops when the upstream is full: ${how}`, () => {
      const { upload, target, sink } = started(length);
      let given = 0;
      while (given < bytes.length && sink.data(Buffer.from(bytes[given]!))) given += 1;
      expect(given).to.be.within(48 * 1024, 96 * 1024);
      expect(target.writes).to.be.below(40);
      upload.drained();
      target.take();
      for (given += 1; given < bytes.length; given++) {
        sink.data(Buffer.from(bytes[given]!));
        if (given % 10_000 === 0) target.take();
      }
      sink.end();
      expect(upload.ended).to.equal(true);
      const sent = length === -1 ? dechunked(target.text) : target.text;
      expect(sent === bytes.join('')).to.equal(true);
    });
  }

  it('sends a chunk at once where the connection takes it, however small', () => {
    const { target, sink } = started(-1);
    sink.data(Buffer.from('a'));
    expect(target.text).to.equal('1\r\na\r\n');
    target.take();
    sink.data(Buffer.from('b'));
    expect(target.text).to.equal('1\r\na\r\n1\r\nb\r\n');
    // This one waits for the one before, and goes as soon as that has been taken.
    sink.data(Buffer.from('c'));
    expect(target.text).to.equal('1\r\na\r\n1\r\nb\r\n');
    target.take();
    expect(target.text).to.equal('1\r\na\r\n1\r\nb\r\n1\r\nc\r\n');
  });
});
