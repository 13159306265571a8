// lane: slow
import { expect } from 'chai';
import { awsKeys } from '../../src/simulated/aws/aws-auth.js';
import type { SimulatedProvider } from '../../src/simulated/index.js';
import { type ClientApi, clientApis } from '../support/client-apis.js';
import type { RunningGateway } from '../support/gateway.js';
import { type ProbedGateway, startProbed } from '../support/probed-gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

/** Milliseconds that one turn of a data worker's event loop may take. */
const most = 20;
const size = 5_000_000;

/**
 * WHOLE_LOAD=true sends every shape through every API to every provider. Otherwise they take turns: each API reads every shape
 * and gives the long answers of every third provider, and each provider gets one or two shapes; streams of another
 * format have few pieces or many.
 */
const whole = process.env['WHOLE_LOAD'] === 'true';

type Shape = (api: ClientApi) => Record<string, unknown>;

/** A turn of the conversation in the format of that API. */
function turn({ format }: ClientApi, text: string): unknown {
  return format === 'gemini-generate-content'
    ? { role: 'user', parts: [{ text }] }
    : { role: 'user', content: text };
}

function picture({ format }: ClientApi, data: string): unknown {
  const url = `data:image/png;base64,${data}`;
  switch (format) {
    case 'gemini-generate-content':
      return { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data } }] };
    case 'anthropic-messages':
      return {
        role: 'user',
        content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }],
      };
    case 'openai-responses':
      return { role: 'user', content: [{ type: 'input_image', image_url: url }] };
    default:
      return { role: 'user', content: [{ type: 'image_url', image_url: { url } }] };
  }
}

/** An answer repeats what was said, up to so many tokens. */
const limit = ({ format }: ClientApi, tokens: number): Record<string, unknown> =>
  format === 'gemini-generate-content'
    ? { generationConfig: { maxOutputTokens: tokens } }
    : { [format === 'openai-responses' ? 'max_output_tokens' : 'max_tokens']: tokens };

const brief = (api: ClientApi): Record<string, unknown> => limit(api, 64);

const shapes: Readonly<Record<string, Shape>> = {
  'one long text': (api) => ({
    ...api.body(false),
    ...brief(api),
    [api.messages]: [turn(api, 'lorem "ipsum"\n'.repeat(size / 16))],
  }),
  'a long conversation': (api) => ({
    ...api.body(false),
    ...brief(api),
    [api.messages]: Array.from({ length: 1000 }, (_, i) =>
      turn(api, `${i} ${'dolor sit amet '.repeat(333)}`),
    ),
  }),
  'a picture': (api) => ({
    ...api.body(false),
    ...brief(api),
    [api.messages]: [picture(api, 'iVBORw0K'.repeat(size / 8))],
  }),
};

describe('a chat body of 5 MB through a running gateway', () => {
  let gateway: RunningGateway;
  let provider: SimulatedProvider;
  let probed: ProbedGateway;

  before(async function () {
    this.timeout(30_000);
    // The probe asks Linux what the processor has done for a thread.
    if (process.platform !== 'linux') this.skip();
    probed = await startProbed();
    ({ gateway, provider } = probed);
    const { providers } = gateway.admin();
    const { url } = provider;
    await providers.create({ slug: 'mistral', provider: 'mistral-ai', key: 'sk', base_url: `${url}/v1` });
    await providers.create({ slug: 'cohere', provider: 'cohere', key: 'co', base_url: `${url}/v2` });
    await providers.create({
      slug: 'bedrock',
      provider: 'bedrock',
      base_url: url,
      aws_region: 'eu-central-1',
      aws_access_key_id: awsKeys.accessKeyId,
      aws_secret_access_key: awsKeys.secretAccessKey,
    });
  });

  after(async () => {
    await probed?.close();
  });

  const slugs = ['openai', 'mistral', 'anthropic', 'gemini', 'cohere', 'bedrock'];
  const modelOf = (slug: string): string =>
    slug === 'bedrock' ? 'us.anthropic.claude-sonnet-4-5-20250929-v1:0' : 'some-model';

  /** The best of a few: what the collector of garbage does is not this body's. Milliseconds of the longest turn. */
  async function longestTurnOf(
    api: ClientApi,
    slug: string,
    fields: Record<string, unknown>,
    check: (text: string) => void = () => {},
  ): Promise<number> {
    const model = modelOf(slug);
    const stream = fields['stream'] === true;
    const body = JSON.stringify(
      api.format === 'gemini-generate-content' ? { ...fields, stream: undefined } : { ...fields, model },
    );
    expect(body.length).to.be.greaterThan(size - 100_000);
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 5 && best >= most; i++) {
      await probed.longestTurn();
      const answer = await fetch(
        gateway.url + api.path(stream).replace('some-model', encodeURIComponent(model)),
        {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'x-gateway-api-key': gateway.workspaceKey,
            'x-gateway-provider': `@${slug}`,
          },
          body,
        },
      );
      const text = await answer.text();
      expect(answer.status, text.slice(0, 300)).to.equal(200);
      check(text);
      best = Math.min(best, await probed.longestTurn());
    }
    return best;
  }

  for (const [d, api] of clientApis.entries()) {
    for (const [s, slug] of slugs.entries()) {
      for (const [i, [name, shape]] of Object.entries(shapes).entries()) {
        if (!whole && (i !== (d + s) % 3 || (d + s) % 2 !== 0)) continue;
        it(`${api.name} to ${slug}: ${name} delays no other request by ${most} ms`, async function () {
          this.timeout(20_000);
          expectWithinMs(await longestTurnOf(api, slug, shape(api)), most);
        });
      }
    }
  }

  describe('whose answer is as long', () => {
    const said = 'lorem "ipsum" dolor\n'.repeat(size / 20);
    const isWhole = (text: string): void => {
      expect(text.length).to.be.greaterThan(size);
      expect(text.split('dolor').length - 1).to.be.at.least(size / 20);
    };
    const asked = (api: ClientApi, stream: boolean): Record<string, unknown> => ({
      ...api.body(stream, said),
      ...limit(api, size),
    });

    afterEach(() => provider.reset());

    for (const [d, api] of clientApis.entries()) {
      for (const [s, slug] of slugs.entries()) {
        if (!whole && (d + s) % 3 !== 0) continue;
        it(`${api.name} to ${slug}: a whole answer delays no other request by ${most} ms`, async function () {
          this.timeout(20_000);
          expectWithinMs(await longestTurnOf(api, slug, asked(api, false), isWhole), most);
        });
      }

      // Server-sent events of another format, and binary ones.
      for (const [slug, chunks] of [
        [api.other, 8],
        [api.other, 2000],
        ['bedrock', 2000],
      ] as const) {
        if (!whole && slug === api.other && chunks !== [8, 2000][d % 2]) continue;
        it(`${api.name} to ${slug}: a stream of ${chunks} pieces delays no other request by ${most} ms`, async function () {
          this.timeout(20_000);
          provider.fault('*', `chunks=${chunks}`);
          const longest = await longestTurnOf(api, slug, asked(api, true), (text) => {
            expect(text.length).to.be.greaterThan(size);
            expect(text).to.match(api.end);
          });
          expectWithinMs(longest, most);
        });
      }
    }

    it('a list of vectors to gemini delays no other request by 20 ms', async function () {
      this.timeout(20_000);
      let best = Number.POSITIVE_INFINITY;
      for (let i = 0; i < 5 && best >= most; i++) {
        await probed.longestTurn();
        const answer = await fetch(`${gateway.url}/v1/embeddings`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'x-gateway-api-key': gateway.workspaceKey,
            'x-gateway-provider': '@gemini',
          },
          body: JSON.stringify({
            model: 'gemini-embedding-001',
            input: Array.from({ length: 100 }, (_, n) => `text ${n}`),
            dimensions: 2000,
          }),
        });
        const text = await answer.text();
        expect(answer.status, text.slice(0, 300)).to.equal(200);
        expect(text.length).to.be.greaterThan(1_000_000);
        best = Math.min(best, await probed.longestTurn());
      }
      expectWithinMs(best, most);
    });
  });
});
