// lane: slow
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';
import { expectWithinMs } from '../support/time-limits.js';

/** Logs as many lines of 1 KB as the request's metadata asks for. */
const noisy = `export default {
  name: 'noisy',
  options: { type: 'object' },
  setup: (_options, host) => ({
    request(x) {
      for (let i = 0; i < Number(x.metadata.lines ?? 0); i++) host.log.info({ i, text: 'x'.repeat(1000) }, 'noise');
    },
  }),
};`;

/** A standard output that stops taking lines. */
interface Output {
  readonly stdout: number | 'unread';
  /** After the start: the output breaks. */
  break?(): void;
  /** The output works again; gives what has been written to it since. */
  repair?(gateway: RunningGateway): () => string;
  close?(): void;
}

describe('a standard output that takes no lines', () => {
  let dir: string;

  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'headgate-log-'));
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
    mkdirSync(join(dir, 'plugins'));
    writeFileSync(join(dir, 'plugins', 'noisy.js'), noisy);
  });

  after(() => rmSync(dir, { recursive: true, force: true }));

  function pipe(name: string): { reader: number; writer: number } {
    const path = join(dir, name);
    execFileSync('mkfifo', [path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return { reader, writer: openSync(path, constants.O_WRONLY) };
  }

  const outputs: Readonly<Record<string, () => Output | null>> = {
    'a full disk': () => {
      const stdout = openSync('/dev/full', 'w');
      return { stdout, close: () => closeSync(stdout) };
    },
    'a file on a disk that becomes full': () => {
      const disk = join(dir, 'disk');
      mkdirSync(disk);
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'none', disk], { stdio: 'ignore' });
      } catch {
        return null;
      }
      const file = join(disk, 'log');
      const ballast = join(disk, 'ballast');
      writeFileSync(ballast, Buffer.alloc(3 * 1024 * 1024));
      const stdout = openSync(file, 'a');
      return {
        stdout,
        repair() {
          rmSync(ballast);
          return () => readFileSync(file, 'utf8');
        },
        close() {
          closeSync(stdout);
          execFileSync('umount', ['--lazy', disk]);
        },
      };
    },
    'a pipe whose reader has stopped': () => {
      const { reader, writer } = pipe('stopped');
      return {
        stdout: writer,
        repair() {
          let text = '';
          // A socket, since a file's stream takes EAGAIN for the end.
          new Socket({ fd: reader, writable: false }).on('data', (chunk) => {
            text += String(chunk);
          });
          return () => text;
        },
        close: () => closeSync(writer),
      };
    },
    'a pipe whose reader has gone': () => {
      const { reader, writer } = pipe('gone');
      return { stdout: writer, break: () => closeSync(reader), close: () => closeSync(writer) };
    },
    'a socket whose reader has stopped': () => ({
      stdout: 'unread',
      repair(gateway) {
        let text = '';
        gateway.process.stdout?.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        return () => text;
      },
    }),
  };

  /** Each needs a gateway of its own; the other two differ from these in what the system calls them. */
  const usual = ['a full disk', 'a pipe whose reader has stopped', 'a pipe whose reader has gone'];
  for (const [name, open] of Object.entries(outputs)) {
    if (!isLong && !usual.includes(name)) continue;
    it(`costs no request and no process: ${name}`, async function () {
      this.timeout(60_000);
      const output = open();
      if (output === null) return this.skip();
      const gateway = await startGateway({
        stdout: output.stdout,
        env: {
          HEADGATE_SIMULATED: 'true',
          HEADGATE_PLUGINS: JSON.stringify({
            directory: join(dir, 'plugins'),
            insert: [{ name: 'noisy', after: 'config' }],
          }),
        },
      });
      try {
        output.break?.();
        const ask = (lines: number): Promise<number> =>
          fetch(`${gateway.url}/v1/chat/completions`, {
            method: 'POST',
            signal: AbortSignal.timeout(5000),
            headers: {
              'content-type': 'application/json',
              'x-gateway-api-key': gateway.workspaceKey,
              'x-gateway-provider': '@simulated',
              'x-gateway-metadata': JSON.stringify({ lines: String(lines) }),
            },
            body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }),
          }).then((answer) => answer.status);
        // Three times what may wait in memory.
        for (let i = 0; i < 30; i++) expect(await ask(100)).to.equal(200);
        const dropped = async (): Promise<number> =>
          Number(
            /^gateway_log_dropped_total\{worker="0",kind="log_line"\} (\d+)$/m.exec(
              await (await fetch(`${gateway.opsUrl}/metrics`)).text(),
            )?.[1],
          );
        // The first report may be of some of them only.
        const lost = await eventually('dropped lines are counted', async () => {
          const count = await dropped();
          return count >= 500 && count;
        });
        expect(lost).to.be.at.most(3000);

        if (output.repair !== undefined) {
          const text = output.repair(gateway);
          const reported = await eventually('the log goes on', async () =>
            /"worker":0,"dropped":(\d+),"msg":"\d+ log lines are missing here/.exec(text()),
          );
          // The count reaches `/metrics` up to a second after the line.
          await eventually(
            'the metrics show the reported count',
            async () => Number(reported[1]) === (await dropped()),
          );
          expect(await ask(1)).to.equal(200);
          await eventually('new lines are written', async () =>
            text().slice(text().indexOf('are missing here')).includes('"msg":"noise"'),
          );
        }

        // The control process writes a line about this, and must outlive it.
        const { pid } = gateway.process;
        const [worker] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
        process.kill(Number(worker), 'SIGKILL');
        await eventually('another worker serves', async () => (await ask(0).catch(() => 0)) === 200);
        const asked = performance.now();
        expect(await gateway.stop()).to.equal(0);
        expectWithinMs(performance.now() - asked, 10_000);
      } finally {
        gateway.process.kill('SIGKILL');
        output.close?.();
        // Workers of a gateway that was killed may still write there for a moment.
        await gateway.stop().catch(() => {});
      }
    });
  }
});
