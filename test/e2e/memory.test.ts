// lane: slow
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually, freePorts } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';
import { root } from '../support/root.js';

/** docs/speed.md has 253 MB on a quiet machine, and 260 as the aim; on a busy one more garbage waits. Before: 334 to 356. */
const limitMb = 290;
const requests = isLong ? 20_000 : 5000;

/** A process and all that it started. */
function treeOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter(Boolean)
      .map(Number),
  );
  return [pid, ...children.flatMap(treeOf)];
}

const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

describe('npm start with one worker and the simulated provider', () => {
  it(`keeps at most ${limitMb} MB resident under load, npm included`, async function () {
    if (process.platform !== 'linux') this.skip();
    this.timeout(90_000);
    const dataDir = mkdtempSync(join(tmpdir(), 'headgate-test-'));
    const [port, grpcPort, opsPort] = await freePorts(3);
    const npm = spawn('npm', ['start', '--', '--simulated', '--workers', '1'], {
      cwd: root,
      env: {
        ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'))),
        HEADGATE_PORT: String(port),
        HEADGATE_GRPC_PORT: String(grpcPort),
        HEADGATE_OPS_PORT: String(opsPort),
        HEADGATE_DATA_DIR: dataDir,
      },
      stdio: 'ignore',
    });
    const ended = new Promise((done) => npm.once('exit', done));
    const agent = new Agent({ keepAlive: true, maxSockets: 32 });
    try {
      await eventually(
        'ready',
        () =>
          fetch(`http://127.0.0.1:${opsPort}/readyz`).then(
            ({ ok }) => ok,
            () => false,
          ),
        30_000,
      );
      const keys = JSON.parse(readFileSync(join(dataDir, 'first-keys.json'), 'utf8')) as {
        workspace_key: string;
      };
      const content = 'Tell me something about gateways. '.repeat(25);
      let sent = 0;
      const chat = (): Promise<void> =>
        new Promise((done, failed) => {
          const headers = {
            'content-type': 'application/json',
            'x-gateway-api-key': keys.workspace_key,
            'x-gateway-provider': '@simulated',
          };
          const options = { port, path: '/v1/chat/completions', method: 'POST', agent, headers };
          const call = request(options, (answer) => answer.resume().on('end', done));
          call.on('error', failed);
          call.end(
            JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: content + sent }] }),
          );
        });
      await Promise.all(
        Array.from({ length: 32 }, async () => {
          while (sent++ < requests) await chat();
        }),
      );
      const processes = treeOf(npm.pid as number).map(residentMb);
      // npm, the control process, the worker.
      expect(processes).to.have.length(3);
      const sum = processes.reduce((all, one) => all + one, 0);
      expect(sum, processes.map((mb) => mb.toFixed(0)).join(' + ')).to.be.at.most(limitMb);
      console.log(`      ${processes.map((mb) => mb.toFixed(0)).join(' + ')} = ${sum.toFixed(0)} MB`);
    } finally {
      agent.destroy();
      npm.kill('SIGTERM');
      await ended;
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
