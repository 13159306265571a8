// lane: shared gateway
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { HostileUpstream, okReply } from '../support/hostile-upstream.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

const completion = (text: string): string =>
  JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  });

describe('a provider that answers one workspace twice', () => {
  let provider: HostileUpstream;
  let attacker: SharedGateway;
  let victim: SharedGateway;
  /** Of each connection: whose requests it carried. */
  const users = new Map<Socket, Set<string>>();

  before(async () => {
    provider = await new HostileUpstream({
      request(socket, { head, number }) {
        const user = /authorization: Bearer sk-(\w+)/i.exec(head)?.[1] ?? '';
        users.set(socket, (users.get(socket) ?? new Set()).add(user));
        socket.write(okReply(completion(user), 'content-type: application/json'));
        if (user !== 'attacker') return;
        const unasked = okReply(completion('stolen'), 'content-type: application/json');
        if (number % 3 === 0) setImmediate(() => socket.write(unasked));
        else setTimeout(() => socket.write(unasked), number % 3);
      },
    }).listen();
    attacker = await shareGateway();
    victim = await shareGateway();
    for (const [workspace, name] of [
      [attacker, 'attacker'],
      [victim, 'victim'],
    ] as const) {
      await workspace.admin().providers.create({
        slug: 'both',
        provider: 'openai',
        key: `sk-${name}`,
        base_url: `${provider.url}/v1`,
      });
    }
  });
  after(async () => {
    await attacker?.stop();
    await victim?.stop();
    await provider?.close();
  });

  const ask = async (workspace: SharedGateway, headers: Record<string, string>): Promise<string> => {
    const answer = await fetch(`${workspace.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': workspace.workspaceKey,
        ...headers,
      },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
    });
    return answer.text();
  };

  const ways: [string, (name: string) => Record<string, string>][] = [
    ['stored provider', () => ({ 'x-gateway-provider': '@both' })],
    [
      'custom host',
      (name) => ({
        'x-gateway-provider': 'openai',
        'x-gateway-custom-host': `${provider.url}/v1`,
        authorization: `Bearer sk-${name}`,
      }),
    ],
  ];
  for (const [what, headers] of ways) {
    it(`never has its second answer given to another workspace with the same ${what}`, async function () {
      this.timeout(30_000);
      users.clear();
      for (let round = 0; round < 150; round++) {
        const attack = ask(attacker, headers('attacker'));
        if (round % 2 === 0) await attack;
        const answer = JSON.parse(await ask(victim, headers('victim')));
        expect(answer.choices?.[0].message.content).to.equal('victim');
        await attack;
      }
      expect([...users.values()].filter((both) => both.size > 1)).to.deep.equal([]);
      const victims = [...users.values()].filter((one) => one.has('victim'));
      expect(victims.length, 'connections that carried the 150 requests').to.be.within(1, 20);
    });
  }
});

for (const transport of ['uws', 'node']) {
  describe(`a provider whose answer is broken before the client was sent anything: ${transport}`, () => {
    let gateway: RunningGateway;
    let provider: HostileUpstream;
    let answer: (socket: Socket) => void = () => {};
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n';

    before(async () => {
      provider = await new HostileUpstream({ request: (socket) => answer(socket) }).listen();
      gateway = await startGateway({ env: { HEADGATE_TRANSPORT: transport } });
      await gateway.admin().providers.create({
        slug: 'broken',
        provider: 'openai',
        key: 'sk-x',
        base_url: `${provider.url}/v1`,
        workspace_id: gateway.workspaceId,
      });
    });
    after(async () => {
      await gateway?.stop();
      await provider?.close();
    });

    const ask = (path = '/v1/odd/thing'): Promise<Response> =>
      fetch(gateway.url + path, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-provider': '@broken',
        },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
      });

    const broken: [string, (socket: Socket) => void][] = [
      [
        'whose first chunk is broken in the packet of its head',
        (socket) => socket.write(`${head}5 junk\r\nhello\r\n`),
      ],
      [
        'with a whole chunk before the broken one, in one packet',
        (socket) => socket.write(`${head}2\r\nok\r\nzz\r\n`),
      ],
      [
        'whose first chunk is broken in a packet of its own',
        (socket) => {
          socket.write(head);
          setTimeout(() => socket.write('zz\r\n'), 30);
        },
      ],
      [
        'that ends after its head',
        (socket) => {
          socket.write(head);
          setTimeout(() => socket.end(), 30);
        },
      ],
    ];
    for (const [what, write] of broken) {
      it(`is a 502 with a code, not a closed connection: one ${what}`, async () => {
        answer = write;
        for (const path of ['/v1/odd/thing', '/v1/chat/completions']) {
          const response = await ask(path);
          expect(response.status, path).to.equal(502);
          const { error } = (await response.json()) as { error: { code: string } };
          expect(error.code).to.be.oneOf(['upstream_invalid_response', 'upstream_truncated']);
          expect(response.headers.get('x-gateway-error-origin')).to.equal('gateway');
        }
      });
    }

    it('never ends cleanly once some of it has been sent', async () => {
      answer = (socket) => {
        socket.write(`${head}2\r\nok\r\n`);
        setTimeout(() => socket.write('zz\r\n'), 50);
      };
      const response = await ask();
      expect(response.status).to.equal(200);
      const text = await response.text().catch((error: Error) => error);
      expect(text).to.be.instanceOf(Error);
    });

    it('is settled with the status that the client was sent', async () => {
      answer = (socket) => {
        socket.write(head);
        setTimeout(() => socket.write('zz\r\n'), 30);
      };
      const response = await ask();
      const id = response.headers.get('x-gateway-request-id');
      const row = await eventually('the row', async () => {
        const { data } = await gateway.admin().api.logs.listLogs({});
        return data.find((log) => log.id === id);
      });
      expect([response.status, row.response_status_code]).to.deep.equal([502, 502]);
    });
  });
}
