import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { isHeaderName, isHeaderValue } from '../../src/common/http/headers.js';
import { formats } from '../../src/data-plane/providers/formats/index.js';
import { providerRows, providers } from '../../src/data-plane/providers/rows.js';
import { root } from '../support/root.js';

describe('The provider rows', () => {
  for (const [name, provider] of providers) {
    it(`${name} has an address, a path and a source that can be used as they are`, () => {
      expect(provider.name).to.equal(name);
      expect(name).to.match(/^[a-z0-9]+(-[a-z0-9]+)*$/);
      const base = new URL(provider.base);
      expect(base.protocol).to.equal(base.hostname.endsWith('.invalid') ? 'http:' : 'https:');
      expect(provider.base).to.not.match(/\/$/);
      expect(base.search + base.hash + base.username).to.equal('');
      // SageMaker is passed through alone.
      if (name !== 'sagemaker') expect(Object.keys(provider.paths)).to.not.have.length(0);
      for (const path of Object.values(provider.paths)) expect(path).to.match(/^\/[a-zA-Z/_:{}]+$/);
      expect(new URL(provider.source).protocol).to.equal('https:');
      for (const [header, value] of Object.entries(provider.headers ?? {})) {
        expect(header).to.equal(header.toLowerCase());
        expect(isHeaderName(header) && isHeaderValue(value)).to.equal(true);
      }
      for (const header of provider.passHeaders ?? []) expect(header).to.equal(header.toLowerCase());
    });
  }

  it('chat reaches every row that has chat, in its own format or by conversion', () => {
    for (const provider of providers.values()) {
      const chats = Object.keys(provider.paths).filter(
        (name) => name === 'openai-chat' || name === 'anthropic-messages',
      );
      for (const name of chats)
        expect(formats.has(name as 'openai-chat'), `${provider.name} ${name}`).to.equal(true);
    }
  });

  const sentBy = (name: string, body: Record<string, unknown>): Record<string, unknown> =>
    (providers.get(name)?.quirks ?? []).reduce((out, quirk) => quirk.apply(out), Object.freeze(body));

  it('quirks change a copy and leave the body they were given', () => {
    const body = { model: 'm', seed: 1, max_completion_tokens: 5, tool_choice: 'required' };
    expect(sentBy('mistral-ai', body)).to.deep.equal({
      model: 'm',
      random_seed: 1,
      max_tokens: 5,
      tool_choice: 'any',
    });
    expect(sentBy('mistral-ai', { max_completion_tokens: 5, max_tokens: 9 })).to.deep.equal({
      max_tokens: 9,
    });
  });

  it('Mistral is not asked for the usage that it sends anyway, nor DeepSeek for an effort of none', () => {
    expect(sentBy('mistral-ai', { stream: true, stream_options: { include_usage: true } })).to.deep.equal({
      stream: true,
    });
    expect(sentBy('mistral-ai', { stream_options: { include_usage: true, other: 1 } })).to.deep.equal({
      stream_options: { other: 1 },
    });
    expect(sentBy('deepseek', { reasoning_effort: 'none' })).to.deep.equal({
      thinking: { type: 'disabled' },
    });
    expect(sentBy('deepseek', { reasoning_effort: 'high' })).to.deep.equal({ reasoning_effort: 'high' });
    const messages = [
      { role: 'developer', content: 'Be kind.' },
      { role: 'user', content: 'Hi' },
    ];
    expect(sentBy('deepseek', { messages })).to.deep.equal({
      messages: [{ role: 'system', content: 'Be kind.' }, messages[1]],
    });
  });

  it('at least forty speak OpenAI’s format', () => {
    const all = [...providers.values()].filter(({ paths }) => paths['openai-chat'] !== undefined);
    expect(all.length).to.be.at.least(40);
  });

  it('are all in docs/providers.md, with their addresses', () => {
    const page = readFileSync(join(root, 'docs/providers.md'), 'utf8');
    for (const { name, base, forCall } of providers.values()) {
      expect(page).to.include(`\`${name}\``);
      if (forCall === undefined && !base.includes('.invalid/') && name !== 'anthropic' && name !== 'cohere')
        expect(page, name).to.include(`\`${base.replace('https://', '')}\``);
    }
  });

  it('a server of one’s own cannot be reached without its address', () => {
    const own = ['ollama', 'vllm', 'lm-studio', 'openai-compatible', 'databricks'];
    for (const name of [...own, 'azure-openai', 'azure-ai', 'workers-ai'])
      expect(providers.get(name)?.base).to.contain('.invalid/');
    expect([...providers.keys()].filter(providerRows.needsAddress)).to.have.members(own);
  });
});
