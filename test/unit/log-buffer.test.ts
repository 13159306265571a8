import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'chai';
import { LogBuffer } from '../../src/process/log/log-buffer.js';
import type { LogOutput } from '../../src/process/log/log-output.js';

const line = (i: number): string => `line ${i} ${'x'.repeat(80)}\n`;
const failure = (code: string): Error => Object.assign(new Error(code), { code });

/** Takes what `take` says of each write: a number of bytes, or an error that is thrown. */
function output(
  take: (bytes: Buffer) => number,
  batchBytes = 4096,
): LogOutput & { text: string; writes: Buffer[] } {
  const made = {
    batchBytes,
    text: '',
    writes: [] as Buffer[],
    write(bytes: Buffer): number {
      const taken = take(bytes);
      made.writes.push(bytes);
      made.text += bytes.subarray(0, taken).toString();
      return taken;
    },
    writeSync: (bytes: Buffer): number => made.write(bytes),
  };
  return made;
}

const buffered = (to: LogOutput, maxBytes = 10_000): LogBuffer =>
  new LogBuffer({ output: to, maxBytes, gapLine: (dropped) => `${dropped} are missing\n` });

const turn = (): Promise<void> => new Promise((done) => setImmediate(() => setImmediate(done)));

describe('log lines on their way to standard output', () => {
  it('of one turn of the event loop are written together, whole lines up to the size of a batch', async () => {
    const to = output((bytes) => bytes.length, 400);
    const log = buffered(to);
    for (let i = 0; i < 10; i++) log.write(line(i));
    await turn();
    expect(to.text).to.equal(Array.from({ length: 10 }, (_, i) => line(i)).join(''));
    expect(to.writes).to.have.length(3);
    for (const { length } of to.writes) expect(length).to.be.at.most(400);
    for (const bytes of to.writes) expect(bytes.toString()).to.match(/^line[\s\S]*\n$/);
  });

  it('longer than a batch are written whole', async () => {
    const to = output((bytes) => bytes.length, 100);
    const long = `${'é'.repeat(1000)}\n`;
    const log = buffered(to);
    log.write(long);
    log.write(line(1));
    await turn();
    expect(to.text).to.equal(long + line(1));
  });

  it('continue where a write ended in the middle of a character', async () => {
    const parts: Buffer[] = [];
    const to = output((bytes) => Math.min(bytes.length, 7));
    const write = to.write.bind(to);
    to.write = (bytes) => {
      const taken = write(bytes) as number;
      parts.push(bytes.subarray(0, taken));
      return taken;
    };
    buffered(to).write('ééééééééé\n');
    await turn();
    expect(Buffer.concat(parts).toString()).to.equal('ééééééééé\n');
  });

  it('wait for an output that is full, and keep their order', async () => {
    let full = true;
    const to = output((bytes) => {
      if (full) throw failure('EAGAIN');
      return bytes.length;
    });
    const log = buffered(to);
    log.write(line(0));
    await turn();
    log.write(line(1));
    await turn();
    expect(to.text).to.equal('');
    full = false;
    while (to.text === '') await wait(5);
    expect(to.text).to.equal(line(0) + line(1));
    expect(log.dropped).to.equal(0);
  });

  it('are dropped when memory for them is used up; one line reports how many, where they are missing', async () => {
    let full = true;
    const to = output((bytes) => {
      if (full) throw failure('EAGAIN');
      return bytes.length;
    });
    const log = buffered(to);
    for (let i = 0; i < 1000; i++) log.write(line(i));
    await turn();
    const kept = 1000 - log.dropped;
    expect(kept).to.be.within(50, 120);
    full = false;
    while (to.text === '') await wait(5);
    await turn();
    log.write(line(1000));
    await turn();
    const expected = Array.from({ length: kept }, (_, i) => line(i)).join('');
    expect(to.text).to.equal(`${expected}${log.dropped} are missing\n${line(1000)}`);
    expect(log.dropped).to.equal(1000 - kept);
  });

  it('that wait at the exit of the process are written, unless the output fails once', async () => {
    const to = output((bytes) => bytes.length, 100);
    const log = buffered(to);
    for (let i = 0; i < 5; i++) log.write(line(i));
    log.end();
    expect(to.text).to.equal(Array.from({ length: 5 }, (_, i) => line(i)).join(''));

    let tries = 0;
    let isBroken = true;
    const broken = buffered(
      output((bytes) => {
        tries++;
        if (isBroken) throw failure('EAGAIN');
        return bytes.length;
      }),
    );
    for (let i = 0; i < 5; i++) broken.write(line(i));
    broken.end();
    expect(tries).to.equal(1);
    // Nothing of it is left for the tests that follow.
    isBroken = false;
  });

  it('are handed to a slow file one batch at a time', async () => {
    const pending: (() => void)[] = [];
    const written: string[] = [];
    const log = buffered({
      batchBytes: 64 * 1024,
      write: (bytes) =>
        new Promise((resolve) => {
          pending.push(() => {
            written.push(bytes.toString());
            resolve(bytes.length);
          });
        }),
      writeSync: (bytes) => bytes.length,
    });
    log.write(line(0));
    await turn();
    log.write(line(1));
    log.write(line(2));
    await turn();
    expect(pending).to.have.length(1);
    pending.shift()?.();
    await turn();
    pending.shift()?.();
    await turn();
    expect(written).to.deep.equal([line(0), line(1) + line(2)]);
  });
});
