import { expect } from 'chai';
import {
  definePlugin,
  type Plugin,
  type PluginProvider,
  type PluginProviderRows,
} from '../../src/common/plugin-host/plugin-api.js';
import { declarationProblems } from '../../src/plugin-kit/check/declaration.js';
import { openPlugin } from '../../src/plugin-kit/index.js';

const row: PluginProvider = { base: 'https://ai.acme.example/v1', paths: { 'openai-chat': '/chat' } };
const bringing = (providers: unknown): Plugin => ({
  ...{ name: 'acme', options: { type: 'object' }, setup: () => ({}) },
  providers: providers as PluginProviderRows,
});
const config = { provider: 'acme-ai', api_key: 'k-1' };
const completion = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
};

describe('providers of a plugin', () => {
  const refused = async (providers: unknown, reason: RegExp): Promise<void> => {
    const error = await openPlugin(bringing(providers), {}).then(
      (opened) => opened.close().then(() => null),
      (thrown: Error) => thrown,
    );
    expect(error?.message, JSON.stringify(providers)).to.match(reason);
  };

  it('are refused with path and reason where the gateway could not call them', async () => {
    for (const [providers, reason] of [
      [
        { 'acme-ai': { paths: row.paths } },
        /plugin acme: providers\.acme-ai must have required property 'base'/,
      ],
      [{ 'acme-ai': { ...row, base: 'ftp://a' } }, /providers\.acme-ai\.base/],
      [{ 'acme-ai': { ...row, base: 'https://a/v1/' } }, /providers\.acme-ai\.base/],
      [{ 'acme-ai': { ...row, base: 'https://user:key@a/v1' } }, /providers\.acme-ai\.base/],
      [{ 'acme-ai': { ...row, paths: {} } }, /providers\.acme-ai\.paths/],
      [{ 'acme-ai': { ...row, paths: { 'gemini-generate-content': '/x' } } }, /providers\.acme-ai\.paths/],
      [
        { 'acme-ai': { ...row, auth: { kind: 'header' } } },
        /acme-ai\.auth must have required property 'name'/,
      ],
      [{ 'acme-ai': { ...row, passHeaders: ['authorization'] } }, /acme-ai\.passHeaders\.0/],
      [{ 'acme-ai': { ...row, headers: { 'x-a': 'b\r\nc: d' } } }, /acme-ai\.headers\.x-a/],
      [{ 'acme-ai': { ...row, bass: 1 } }, /providers\.acme-ai must NOT have additional/],
      [{ 'Acme AI': row }, /providers must match pattern|property name/],
      [
        { 'acme-ai': { ...row, quirks: [{ name: 'q', apply: 'no' }] } },
        /quirks: apply of q must be a function/,
      ],
      [{ openai: row }, /providers\.openai: the gateway has a provider of that name/],
    ] as const)
      await refused(providers, reason);
    await refused(() => ({ 'acme-ai': { ...row, base: 7 } }), /providers\.acme-ai\.base must be string/);
    expect(declarationProblems(bringing({ 'acme-ai': { ...row, bass: 1 } }))).to.deep.equal([
      { path: ['providers', 'acme-ai', 'bass'], message: 'is not known here.' },
    ]);
    expect(declarationProblems(bringing(() => ({ 'acme-ai': row })))).to.deep.equal([]);
  });

  it('are called with their headers, query, key and edits', async () => {
    const plugin = definePlugin<{ readonly base: string }>({
      ...{ name: 'acme', options: { type: 'object' }, setup: () => ({}) },
      providers: ({ base }) => ({
        'acme-ai': {
          ...{ ...row, base, query: 'version=2', headers: { 'x-a': '1' }, passHeaders: ['x-b'] },
          quirks: [{ name: 'renamed', apply: ({ model, ...body }) => ({ ...body, engine: model }) }],
        },
      }),
    });
    const opened = await openPlugin(
      plugin,
      { base: 'http://acme/v2' },
      { answer: () => ({ body: completion }) },
    );
    const { calls, text } = await opened.inject({ config, headers: { 'x-b': '2', 'x-c': '3' } });
    await opened.close();
    expect(text).to.equal('Hi.');
    expect(calls[0]!.url).to.equal('http://acme/v2/chat?version=2');
    expect(calls[0]!.headers).to.include({ 'x-a': '1', 'x-b': '2', authorization: 'Bearer k-1' });
    expect(calls[0]!.headers).to.not.have.property('x-c');
    expect(calls[0]!.json).to.include({ engine: 'gpt-4o-mini' }).and.not.have.property('model');
  });

  it('fail their own requests where an edit throws or returns no body, and the log names them', async () => {
    for (const apply of [
      () => {
        throw new Error('broken');
      },
      () => undefined as never,
      // It is frozen.
      (body: object) => Object.assign(body, { model: 'other' }),
    ]) {
      const plugin = bringing({ 'acme-ai': { ...row, quirks: [{ name: 'bad', apply }] } });
      const opened = await openPlugin(plugin, {}, { answer: () => ({ body: completion }) });
      const { status, calls, log } = await opened.inject({ config });
      expect([status, calls.length]).to.deep.equal([500, 0]);
      expect(log.map(({ fields }) => [fields['plugin'], fields['hook']])).to.deep.include([
        'acme',
        'providers.acme-ai',
      ]);
      const { status: other } = await opened.inject({ config: { provider: 'groq', api_key: 'k' } });
      expect(other).to.equal(200);
      await opened.close();
    }
  });
});
