import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { adminTree } from '../../proto/tree.js';
import { eventually, freePorts, mainFile, type RunningGateway, startGateway } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';
import { sendHttp2, sendLines } from '../support/request-lines.js';
import { seeded } from '../support/seeded.js';

/** Over five listeners. */
const perPort = isLong ? 2000 : 400;

const methods = [
  '/grpc.health.v1.Health/Check',
  '/grpc.health.v1.Health/Watch',
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
  ...[...adminTree().methods.values()].map(({ path }) => path),
];

describe(`${5 * perPort} random request lines`, () => {
  const gateways: RunningGateway[] = [];
  let provider: ChildProcess;
  let providerPort = 0;
  let sent = 0;

  before(async () => {
    const [port = 0] = await freePorts(1);
    providerPort = port;
    provider = spawn(process.execPath, [mainFile, 'simulate', '--port', String(port)], { stdio: 'ignore' });
    gateways.push(
      ...(await Promise.all(
        ['uws', 'node'].map((transport) =>
          startGateway({
            env: {
              HEADGATE_TRANSPORT: transport,
              HEADGATE_SIMULATED: 'true',
              HEADGATE_LOG_LEVEL: 'error',
              HEADGATE_GRPC_REFLECTION: 'true',
            },
          }),
        ),
      )),
    );
    await eventually('the provider', () =>
      ask(`http://127.0.0.1:${port}`, {}).then((status) => status === 200),
    );
  });

  after(async () => {
    provider?.kill();
    await Promise.all(gateways.map((gateway) => gateway.stop()));
  });

  const ask = (url: string, headers: Record<string, string>): Promise<number> =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-any', ...headers },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }),
    }).then(
      async (answer) => {
        await answer.arrayBuffer();
        return answer.status;
      },
      () => 0,
    );

  const workersOf = ({ process: { pid } }: RunningGateway): string =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();

  /** Runs `attack`, then sees that the same processes are there and that every listener of theirs serves. */
  async function survives(gateway: RunningGateway, attack: () => Promise<number>): Promise<void> {
    const workers = workersOf(gateway);
    sent += await attack();
    expect(gateway.process.exitCode, gateway.output()).to.equal(null);
    expect(workersOf(gateway), gateway.output()).to.equal(workers);
    expect((await fetch(`${gateway.opsUrl}/readyz`)).status).to.equal(200);
    const { workspaceKey } = gateway;
    const headers = { 'x-gateway-api-key': workspaceKey, 'x-gateway-provider': '@simulated' };
    expect(await ask(gateway.url, headers)).to.equal(200);
    expect((await gateway.admin().providers.list({})).data.length).to.equal(1);
  }

  for (const [number, transport] of ['uws', 'node'].entries()) {
    it(`to the data port by the ${transport} transport end no process`, async () => {
      const gateway = gateways[number] as RunningGateway;
      await survives(gateway, () => sendLines(gateway.port, perPort, seeded(number + 1)));
    });
  }

  it('to the health port end no process', async () => {
    const gateway = gateways[0] as RunningGateway;
    const port = Number(new URL(gateway.opsUrl).port);
    await survives(gateway, () => sendLines(port, perPort, seeded(3)));
  });

  it('to the gRPC port, as HTTP/1.1 and as HTTP/2, end no process', async () => {
    const gateway = gateways[0] as RunningGateway;
    await survives(gateway, async () => {
      const lines = await sendLines(gateway.grpcPort, perPort / 2, seeded(4));
      return lines + (await sendHttp2(gateway.grpcPort, perPort / 2, seeded(5), methods));
    });
  });

  it('to the simulated provider end no process', async () => {
    sent += await sendLines(providerPort, perPort, seeded(6));
    expect(provider.exitCode).to.equal(null);
    expect(await ask(`http://127.0.0.1:${providerPort}`, {})).to.equal(200);
    // The last of the five: together they were as many as promised.
    expect(sent).to.equal(5 * perPort);
  });
});
